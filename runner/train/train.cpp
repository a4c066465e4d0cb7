#include "runner/train/train.hpp"

#include <torch/types.h>
#include <torch/utils.h>

#include <chrono>
#include <cmath>
#include <csignal>

#include "components/contract/interval.hpp"
#include "registry/base/log.hpp"
#include "runner/checkpoint/checkpointer.hpp"
#include "runner/terminal/text.hpp"
#include "runner/train/agreement.hpp"
#include "runner/train/best_files.hpp"
#include "runner/train/evaluate.hpp"
#include "runner/train/feed.hpp"

namespace runner {

namespace {

using Clock = std::chrono::steady_clock;

// The time of a run, including that of earlier attempts if it was resumed.
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
  progress.examples += window.examples;
  progress.cursor = window.end;
  progress.epoch = window.end.epoch;
  progress.exact_epoch =
      static_cast<double>(window.end.epoch) +
      static_cast<double>(window.end.position) / static_cast<double>(plan.examples_per_epoch);
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

double learning_rate_factor(Run& run, const std::optional<double>& asked) {
  return asked ? *asked / run.engine.optimizer().peak_lr() : run.learning_rate.factor(run.progress.step);
}

TrainingEnd end_of(const Run& run) {
  return run.ended->empty() ? TrainingEnd{} : TrainingEnd{Outcome::stopped, *run.ended};
}

class Loop {
 public:
  Loop(Run& run, Journal& journal, const LoopControl& control)
      : run_(run),
        engine_(run.engine),
        journal_(journal),
        control_(control),
        log_interval_(run.recipe.train.log_every),
        eval_interval_(run.recipe.eval.every),
        feed_(*run.data.train, training_options(run.recipe, run.engine), run.recipe.train.accumulation_steps,
              run.progress.cursor),
        clock_(run.progress.seconds) {}

  TrainingEnd train() {
    start();
    while (!over()) {
      const TrainingWindow window = next_window();
      const Progress before = run_.progress;
      update(window);
      for (const auto& hook : run_.hooks) hook->after_step(run_.progress, run_.requests);
      if (log_interval_.passed(before, run_.progress)) log_training();
      if (diverged()) break;
      if (eval_interval_.passed(before, run_.progress)) evaluate();
      carry_out_requests();
      agree_on_next(before);
      run_.within_step = false;
      if (control_.checkpoints) save_if_wanted();
      remove_displaced();
    }
    return finish();
  }

 private:
  void start() {
    run_.within_step = true;
    engine_.times().switch_to(TimeLedger::other);
    any_hooks_ = engine_.world().any(!run_.hooks.empty(), "whether there are hooks");
    for (const auto& hook : run_.hooks) hook->start(run_.progress, control_.folder, run_.requests);
    carry_out_requests();
    const bool repeats = run_.evaluation_due;  // the previous attempt was stopped during an evaluation
    if (repeats) {
      evaluate();
      carry_out_requests();
    }
    engine_.world().reached(run_.progress.step);
    agree();
    run_.within_step = false;
    if (repeats && control_.checkpoints) {  // at once, so that a killed run does not repeat it once more
      checkpoint_wanted_ = true;
      save_if_wanted();
    }
  }

  bool done() const {
    return run_.plan.reached(run_.progress) || (control_.steps && run_.progress.step >= *control_.steps) ||
           (replay_is_over() && control_.replay_end.run_ended);
  }
  bool replays() const { return static_cast<bool>(control_.recorded_time); }
  bool replay_is_over() const { return replays() && control_.replay_end.reached(run_.progress); }
  bool over() const { return done() || (agreed_.stop && !replays()) || interrupted() || diverged(); }
  bool interrupted() const { return agreed_.events.signal != 0; }
  bool diverged() const { return !run_.divergence.problem().empty(); }
  bool checkpoint_due(const Progress& before, const Progress& now) const {
    return control_.checkpoints && control_.checkpoints->due(before, now);
  }
  bool due_by_clock(const Progress& now) const {
    return control_.checkpoints && control_.checkpoints->due_by_clock(now);
  }

  // All ranks use the clock of rank 0.
  double seconds() const {
    if (replays()) return control_.recorded_time(run_.progress.step + 1);
    return engine_.world().alone() ? clock_.seconds() : agreed_.events.seconds;
  }

  TrainingWindow next_window() {
    const auto counted = engine_.times().during(TimeLedger::data);
    TrainingWindow next = feed_.next();
    if (!engine_.world().alone())
      next.window.numbers_to_sum = [this] { return event_numbers(own_events(), engine_.world()); };
    return next;
  }

  int stop_signal() const {
    if (run_.requests.interrupt_reason() && !replays()) return SIGTERM;
    if (const int signal = control_.signal(); signal != 0) return signal;
    if (replay_is_over() && !control_.replay_end.run_ended) return SIGINT;
    return control_.interrupt_at && run_.progress.step >= *control_.interrupt_at ? SIGINT : 0;
  }
  // Evaluations of a replay are compared, so its last one is not broken off.
  bool goes_on_evaluating() const { return (replays() ? control_.signal() : stop_signal()) == 0; }

  Events own_events() const {
    const bool asked = control_.checkpoint_asked && control_.checkpoint_asked();
    return {stop_signal(), asked || due_by_clock(run_.progress), clock_.seconds()};
  }

  void learn_of(const Events& events) {
    agreed_.events = events;
    checkpoint_wanted_ = checkpoint_wanted_ || events.checkpoint;
  }

  // One update step: forward and backward over the window, then hooks, clipping and the optimizer.
  void update(const TrainingWindow& window) {
    run_.within_step = true;
    WindowLoss loss;
    {
      const auto counted = engine_.times().during(TimeLedger::compute);
      loss = engine_.accumulate(window.window, *run_.loss);
    }
    if (!loss.summed_numbers.empty()) learn_of(events_from(loss.summed_numbers));
    const auto counted = engine_.times().during(TimeLedger::update);
    const UpdateRequests asked = ask_hooks(loss, window.window);
    const Progress before = run_.progress;
    Progress now = after(window, before, run_.plan, seconds());
    const double factor = learning_rate_factor(run_, asked.learning_rate);
    StepReport report{loss, engine_.optimizer().peak_lr() * factor, window.examples};
    if (log_interval_.passed(before, now)) report.gradient_norm = engine_.gradient_norm();

    const bool skip = asked.skip || run_.divergence.refuses(loss, window.window, now.step,
                                                            loss_is_needed(before, now), engine_.world());
    if (skip) engine_.skip_update();
    const bool updated = !skip && engine_.update(factor);
    if (!updated) now = without_update(now, run_.plan);
    if (!skip) run_.divergence.updated(updated, now.step);
    run_.progress = now;
    report.updated = updated;
    journal_.step(now, report);
  }

  // What hooks request for this update. All ranks have agreed on earlier requests; requests of a hook that
  // sees the gradients may still differ between ranks.
  UpdateRequests ask_hooks(const WindowLoss& loss, const Window& window) {
    bool seen = false, finite = true;
    for (const auto& hook : run_.hooks) {
      if (!hook->wants_gradients(run_.progress)) continue;
      const double mean = loss.mean(), norm = engine_.gradient_norm().item<double>();
      hook->before_update(run_.progress, mean, norm, run_.requests);
      finite = std::isfinite(mean) && std::isfinite(norm);
      seen = true;
    }
    const auto& reason = run_.requests.stop_reason();
    const Agreement own{.stop = reason.has_value(),
                        .update = take_update_requests(run_.requests),
                        .trainability = trainability_};
    if (!seen) return own.update;
    const Agreement agreed = agree_with_ranks(own);
    if (agreed.stop && !finite)
      run_.divergence.stopped_by_hook(reason_of_any(reason), loss, window, run_.progress.step + 1,
                                      engine_.world());
    return agreed.update;
  }

  // A loss that is not finite must be noticed before anything is logged, evaluated or saved. With several
  // ranks, all of them read the loss after every update, so that they decide alike.
  bool loss_is_needed(const Progress& before, const Progress& now) const {
    return !engine_.world().alone() || log_interval_.passed(before, now) ||
           eval_interval_.passed(before, now) || checkpoint_due(before, now) || due_by_clock(now);
  }

  void log_training() {
    journal_.training(run_.progress, engine_.precision().report(), run_.requests.take_measurements());
  }

  void evaluate() {
    carry_out_requests();  // they are not saved if the evaluation fails
    engine_.average_weights();
    run_.divergence.look_at(engine_);
    if (diverged()) return;
    const auto counted = engine_.times().during(TimeLedger::evaluation);
    const auto began = Clock::now();
    // If the evaluation fails, the run is saved as it is now, and begins with the evaluation when it resumes.
    run_.evaluation_due = true;
    run_.within_step = false;
    const Evaluation evaluation = evaluate_all(run_, control_.eval_batches, [&](double share) {
      journal_.evaluating(share);
      return goes_on_evaluating();
    });
    run_.evaluation_due = evaluation.broken_off;
    run_.within_step = true;
    if (evaluation.measurements.empty()) return;
    const bool kept = run_.best && run_.best->admit(run_.progress, evaluation.measurements);
    if (kept) BestFiles(control_.folder).write(run_);
    journal_.evaluation(run_.progress, evaluation, seconds_since(began),
                        kept && run_.best->is_best(run_.progress.step));
    if (control_.checkpoints) control_.checkpoints->measured(evaluation.measurements);
    run_.learning_rate.schedule().observe(evaluation.measurements);
    for (const auto& hook : run_.hooks)
      hook->after_eval(run_.progress, evaluation.measurements, run_.requests);
  }

  // Carries out requests of hooks, except those for an update and values for the next record.
  void carry_out_requests() {
    const std::vector<Trainability> changes = run_.requests.take_trainability();
    for (const Trainability& change : changes) trainability_ = with_request(trainability_, change);
    engine_.set_trainable(changes);
    for (const Note& note : run_.requests.take_notes()) journal_.note(run_.progress, note);
    for (auto& [tag, histogram] : run_.requests.take_histograms())
      journal_.histogram(run_.progress, std::move(tag), std::move(histogram));
  }

  // Events from outside were exchanged together with the loss of the update. Here the ranks agree on what
  // only one of them may have noticed since: requests of hooks, or a signal during an evaluation.
  void agree_on_next(const Progress& before) {
    engine_.world().reached(run_.progress.step);
    checkpoint_wanted_ = checkpoint_wanted_ || checkpoint_due(before, run_.progress);
    const bool evaluated = eval_interval_.passed(before, run_.progress);
    if (engine_.world().alone() || any_hooks_ || evaluated) agree();
  }

  // Requests for the next update are put back into `requests`, so that a checkpoint saves them.
  void agree() {
    Agreement own{own_events(), run_.requests.stop_reason().has_value(), take_update_requests(run_.requests),
                  trainability_};
    if (run_.requests.take_checkpoint()) own.events.checkpoint = true;
    agreed_ = agree_with_ranks(own);
    learn_of(agreed_.events);
    put_back(agreed_.update, run_.requests);
  }

  Agreement agree_with_ranks(const Agreement& own) const {
    if (engine_.world().alone()) return own;
    const auto counted = engine_.times().during(TimeLedger::communication);
    return runner::agree(own, engine_.world());
  }

  // finish() saves the end of a run, once everything is recorded. While ranks hold different weights
  // (local_sgd), a checkpoint waits until they are equal again.
  void save_if_wanted() {
    bool save_now = checkpoint_wanted_ && !over() && engine_.ranks_are_equal();
    if (save_now) {
      engine_.average_weights();
      run_.divergence.look_at(engine_);
      save_now = !diverged();
    }
    control_.checkpoints->after_step(run_.progress, save_now);
    if (save_now) checkpoint_wanted_ = false;
  }

  // Best weights that a checkpoint still refers to are kept until a later checkpoint is on disk.
  void remove_displaced() {
    if (!run_.best || run_.best->displaced().empty() || !engine_.world().is_main()) return;
    if (!control_.checkpoints || control_.checkpoints->covers(run_.best->newest_step()))
      BestFiles(control_.folder).remove_displaced(*run_.best);
  }

  TrainingEnd finish() {
    engine_.average_weights();
    if (run_.plan.reached(run_.progress) && journal_.has_unlogged_steps()) log_training();
    const double unreadable =  // other ranks reported theirs only in their own logs
        engine_.world().all_reduce(static_cast<double>(feed_.unreadable_examples()), Reduction::sum,
                                   "the number of examples that could not be read");
    if (unreadable > 0)
      log::warning("{} could not be read and {} replaced by others.",
                   counted(static_cast<std::size_t>(unreadable), "example"),
                   unreadable == 1 ? "was" : "were");
    evaluate_at_end();
    run_.within_step = false;
    run_.divergence.look_at(engine_);
    // An interrupted run is saved as it was between two updates, to continue from there; a finished one
    // with everything that it recorded.
    if (interrupted()) save_at_end();
    for (const auto& hook : run_.hooks) hook->finish(run_.progress, run_.requests);
    if (!interrupted()) journal_.measurements(run_.progress, run_.requests.take_measurements());
    carry_out_requests();
    if (!interrupted()) {
      run_.ended = agreed_.stop ? reason_of_any(run_.requests.stop_reason()) : "";
      save_at_end();
    }
    remove_displaced();
    if (diverged()) return {Outcome::failed, run_.divergence.problem()};
    if (interrupted())
      return {Outcome::interrupted, reason_of_any(run_.requests.interrupt_reason()), agreed_.events.signal};
    return end_of(run_);
  }

  // A hook of any rank may have asked for it; all ranks report the reason of the first such rank.
  std::string reason_of_any(const std::optional<std::string>& own) const {
    if (engine_.world().alone()) return own.value_or("");
    for (std::string& reason : engine_.world().gather_texts(own.value_or(""), "why the run stops"))
      if (!reason.empty()) return std::move(reason);
    return "";
  }

  void evaluate_at_end() {
    const bool evaluates = run_.recipe.eval.every.unit != Duration::Unit::never;
    if (interrupted() || diverged() || !evaluates || journal_.evaluated(run_.progress)) return;
    evaluate();
    if (run_.evaluation_due)  // a signal, to any rank, broke it off: the run is not finished before it
      agree();
    else
      agreed_.stop =
          engine_.world().any(run_.requests.stop_reason().has_value(), "whether a hook stops the run");
  }

  void save_at_end() {
    if (!control_.checkpoints || diverged()) return;
    engine_.average_weights();
    control_.checkpoints->at_end(run_.progress, interrupted() || checkpoint_wanted_);
  }

  Run& run_;
  Engine& engine_;
  Journal& journal_;
  const LoopControl& control_;
  const Interval log_interval_, eval_interval_;
  Feed feed_;
  const RunClock clock_;
  Agreement agreed_;
  bool any_hooks_ = false;          // on any rank
  double trainability_ = 0;         // what hooks have asked for, as Agreement says
  bool checkpoint_wanted_ = false;  // due or asked for, and not written yet
};

// A run whose weights are no longer finite would fail again each time it continues from them.
bool has_finite_weights(Run& run) {
  try {
    run.divergence.look_at(run.engine);
    return run.divergence.problem().empty();
  } catch (const std::exception&) {
    return false;  // what cannot be read cannot be saved
  }
}

}  // namespace

TrainingEnd train(Run& run, Journal& journal, const LoopControl& control) {
  if (run.ended) return end_of(run);  // killed after its last checkpoint: nothing is left to do
  try {
    return Loop(run, journal, control).train();
  } catch (...) {
    // With several ranks the others may be at another step: the last checkpoint that all agreed on counts.
    if (control.checkpoints && !run.within_step && run.engine.world().alone() && has_finite_weights(run))
      control.checkpoints->on_exception(run.progress);
    throw;
  }
}

}  // namespace runner
