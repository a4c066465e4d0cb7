#include "runner/train/train.hpp"

#include <torch/types.h>
#include <torch/utils.h>

#include <chrono>

#include "components/contract/interval.hpp"
#include "registry/log.hpp"
#include "runner/checkpoint/checkpointer.hpp"
#include "runner/train/evaluate.hpp"
#include "runner/train/feed.hpp"
#include "runner/train/kept_weights.hpp"

namespace runner {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Counts on from what earlier attempts of a resumed run took.
class RunClock {
 public:
  explicit RunClock(double before) : before_(before) {}
  double seconds() const { return before_ + seconds_since(start_); }

 private:
  double before_;
  Clock::time_point start_ = Clock::now();
};

Progress after(const TrainingWindow& window, Progress progress, const Plan& plan, double seconds) {
  ++progress.step;
  progress.samples += window.samples;
  progress.cursor = window.end;
  progress.epoch = window.end.epoch;
  progress.exact_epoch =
      static_cast<double>(window.end.epoch) +
      static_cast<double>(window.end.position) / static_cast<double>(plan.samples_per_epoch);
  progress.seconds = seconds;
  progress.share = plan.share(progress);
  return progress;
}

Progress without_update(Progress progress, const Plan& plan) {
  --progress.step;
  ++progress.skipped_steps;
  progress.share = plan.share(progress);
  return progress;
}

void measure(Run& run, Journal& journal, const LoopControl& control) {
  const auto counted = run.engine.times().during(TimeLedger::evaluation);
  const auto began = Clock::now();
  const Evaluation evaluation = evaluate_all(run, control.eval_batches, [&](double share) {
    journal.evaluating(share);
    // Ranks measure together, and all of them have to come to the end.
    return control.signal() == 0 || !run.engine.world().alone();
  });
  run.evaluation_due = evaluation.broken_off;
  if (evaluation.measurements.empty()) return;
  const bool best = run.best && run.best->improved(run.progress, evaluation.measurements);
  if (best) save_weights(run, run.best->weights(), control.folder / "best.safetensors");  // rank 0 writes
  journal.evaluation(run.progress, evaluation, seconds_since(began), best);
  if (control.checkpoints) control.checkpoints->measured(evaluation.measurements);
  run.learning_rate.schedule().observe(evaluation.measurements);
  for (const auto& hook : run.hooks) hook->after_eval(run.progress, evaluation.measurements, run.requests);
}

// Does what hooks have asked for, apart from what is about the update under way and what waits for a record.
void carry_out_requests(Run& run, Journal& journal) {
  run.engine.set_trainable(run.requests.take_trainability());
  for (const Note& note : run.requests.take_notes()) journal.note(run.progress, note);
  for (auto& [tag, histogram] : run.requests.take_histograms())
    journal.histogram(run.progress, std::move(tag), std::move(histogram));
}

double learning_rate_factor(Run& run) {
  const auto asked = run.requests.take_learning_rate();
  return asked ? *asked / run.engine.optimizer().peak_lr() : run.learning_rate.factor(run.progress.step);
}

// Whether somebody is about to see what an update leads to: then a loss that is not finite must not get
// there.
using LookedAt = std::function<bool(const Progress& before, const Progress& now)>;

// One update: forward and backward over the window, then hooks, clipping, the optimizer.
void update(Run& run, Journal& journal, const TrainingWindow& next, const Interval& log_interval,
            const LookedAt& looked_at, const std::function<double()>& seconds) {
  Engine& engine = run.engine;
  run.updating = true;
  WindowLoss loss;
  {
    const auto counted = engine.times().during(TimeLedger::compute);
    loss = engine.accumulate(next.window, *run.loss);
  }
  const auto counted = engine.times().during(TimeLedger::update);
  for (const auto& hook : run.hooks) {
    if (!hook->wants_gradients(run.progress)) continue;
    hook->before_update(run.progress, loss.mean(), engine.gradient_norm().item<double>(), run.requests);
  }
  const Progress before = run.progress;
  Progress now = after(next, before, run.plan, seconds());
  const double factor = learning_rate_factor(run);
  StepReport report{loss, engine.optimizer().peak_lr() * factor, next.samples};
  if (log_interval.passed(before, now)) report.gradient_norm = engine.gradient_norm();

  const bool skip =
      run.requests.take_skip() || run.divergence.refuses(loss, now.step, looked_at(before, now));
  if (skip) engine.discard_gradients();
  if (skip || !engine.update(factor)) now = without_update(now, run.plan);
  run.progress = now;
  run.updating = false;
  journal.step(now, report);
}

TrainingEnd ending(const Run& run) {
  return run.ended->empty() ? TrainingEnd{} : TrainingEnd{TrainingEnd::stopped, *run.ended};
}

TrainingEnd run_loop(Run& run, Journal& journal, const LoopControl& control) {
  if (run.ended) return ending(run);  // killed after its last checkpoint: nothing is left to do
  const Recipe& recipe = run.recipe;
  Engine& engine = run.engine;
  Requests& requests = run.requests;
  Feed feed(*run.data.train, training_options(recipe, engine), recipe.train.accumulation_steps,
            run.progress.cursor);
  const Interval log_interval(recipe.train.log_every), eval_interval(recipe.eval.every);
  const RunClock clock(run.progress.seconds);
  engine.times().switch_to(TimeLedger::other);
  for (const auto& hook : run.hooks) hook->start(run.progress, control.folder, requests);
  carry_out_requests(run, journal);

  const auto done = [&] {
    return run.plan.reached(run.progress) || (control.steps && run.progress.step >= *control.steps);
  };
  const auto diverged = [&] { return !run.divergence.problem().empty(); };
  const LookedAt looked_at = [&](const Progress& before, const Progress& now) {
    // With several ranks all look, so that they see the same.
    return !engine.world().alone() || log_interval.passed(before, now) || eval_interval.passed(before, now) ||
           (control.checkpoints && control.checkpoints->due(before, now));
  };
  const auto agree = [&](bool due) {
    const bool asked = requests.take_checkpoint() || (control.checkpoint_asked && control.checkpoint_asked());
    engine.world().reached(run.progress.step);
    return engine.agree(
        {requests.stop_reason().has_value(), control.signal(), asked || due, clock.seconds()});
  };
  if (run.evaluation_due) measure(run, journal, control);  // which the run before was stopped in
  Agreement agreed = agree(false);
  // One clock for all ranks, read when they agreed last.
  const auto seconds = [&] { return engine.world().alone() ? clock.seconds() : agreed.seconds; };
  while (!done() && !agreed.stop && agreed.signal == 0) {
    const TrainingWindow next = [&] {
      const auto counted = engine.times().during(TimeLedger::data);
      return feed.next();
    }();
    const Progress before = run.progress;
    update(run, journal, next, log_interval, looked_at, seconds);
    for (const auto& hook : run.hooks) hook->after_step(run.progress, requests);
    if (log_interval.passed(before, run.progress))
      journal.training(run.progress, engine.precision().report(), requests.take_measurements());
    if (diverged()) break;
    if (eval_interval.passed(before, run.progress)) measure(run, journal, control);
    carry_out_requests(run, journal);
    agreed = agree(control.checkpoints && control.checkpoints->due(before, run.progress));
    // The end of a run is saved once all of it has been measured and recorded.
    const bool last = done() || agreed.stop || agreed.signal != 0;
    if (control.checkpoints) control.checkpoints->after_step(run.progress, agreed.checkpoint && !last);
  }
  // A short run, and the last steps of any, have a record too.
  if (run.plan.reached(run.progress) && journal.has_unlogged_steps())
    journal.training(run.progress, engine.precision().report(), requests.take_measurements());
  if (feed.unreadable_samples() > 0)
    log::warning("{} examples could not be read; others took their places.", feed.unreadable_samples());
  const bool interrupted = agreed.signal != 0;  // somebody waits for the process to end
  const bool evaluates = recipe.eval.every.unit != Duration::Unit::never;
  if (!interrupted && !diverged() && evaluates && !journal.evaluated(run.progress))
    measure(run, journal, control);
  run.divergence.look_at(engine.model());
  const auto save = [&] {
    if (control.checkpoints && !diverged()) control.checkpoints->at_end(run.progress, interrupted);
  };
  if (interrupted) save();  // as it was between two updates, to go on from
  for (const auto& hook : run.hooks) hook->finish(run.progress, requests);
  if (!interrupted) journal.measurements(run.progress, requests.take_measurements());
  carry_out_requests(run, journal);
  if (!interrupted) {
    run.ended = agreed.stop ? requests.stop_reason().value_or("another rank asked to stop") : "";
    save();
  }
  if (diverged()) return {TrainingEnd::diverged, run.divergence.problem()};
  if (interrupted) return {TrainingEnd::interrupted, "", agreed.signal};
  return ending(run);
}

}  // namespace

TrainingEnd train(Run& run, Journal& journal, const LoopControl& control) {
  try {
    return run_loop(run, journal, control);
  } catch (...) {
    // With several ranks the others may be elsewhere: the last checkpoint that all agreed on counts.
    if (control.checkpoints && !run.updating && run.engine.world().alone())
      control.checkpoints->on_exception(run.progress);
    throw;
  }
}

}  // namespace runner
