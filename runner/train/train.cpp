#include "runner/train/train.hpp"

#include <torch/types.h>
#include <torch/utils.h>

#include <chrono>

#include "components/contract/interval.hpp"
#include "components/contract/sample_random.hpp"
#include "registry/log.hpp"
#include "runner/train/evaluate.hpp"
#include "runner/train/feed.hpp"
#include "runner/train/kept_weights.hpp"

namespace runner {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Dropout and the like depend on the place in the data alone, so that a run can be taken up anywhere.
void seed_generators(const Recipe& recipe, const Cursor& at) {
  torch::manual_seed(sample_seed(static_cast<std::uint64_t>(recipe.run.seed),
                                 static_cast<std::uint64_t>(at.epoch),
                                 static_cast<std::uint64_t>(at.position)));
}

Progress behind(const Feeding& feeding, Progress progress, const Plan& plan, double seconds) {
  ++progress.step;
  progress.samples += feeding.samples;
  progress.epoch = feeding.end.epoch;
  progress.exact_epoch =
      static_cast<double>(feeding.end.epoch) +
      static_cast<double>(feeding.end.position) / static_cast<double>(plan.samples_per_epoch);
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

void measure(Run& run, Journal& journal, Requests& requests, const Surroundings& surroundings) {
  const auto began = Clock::now();
  const Evaluation evaluation =
      evaluate_all(run, surroundings.eval_batches, [&](double share) { journal.evaluating(share); });
  if (evaluation.measurements.empty()) return;
  const bool best = run.best && run.best->improved(run.progress, evaluation.measurements);
  if (best) save_weights(run, run.best->weights(), surroundings.folder / "best.safetensors");
  journal.evaluation(run.progress, evaluation, seconds_since(began), best);
  run.learning_rate.schedule().observe(evaluation.measurements);
  for (const auto& hook : run.hooks) hook->after_eval(run.progress, evaluation.measurements, requests);
}

// What hooks have asked for since the last time, and what is not about the update that is being made.
void fulfil(Requests& requests, Run& run, Journal& journal) {
  run.engine.set_trainable(requests.take_trainability());
  for (const Note& note : requests.take_notes()) journal.note(run.progress, note);
  for (auto& [tag, histogram] : requests.take_histograms())
    journal.histogram(run.progress, std::move(tag), std::move(histogram));
}

double learning_rate_factor(const Run& run, Requests& requests) {
  const auto wish = requests.take_learning_rate();
  return wish ? *wish / run.optimizer->peak_lr() : run.learning_rate.factor(run.progress.step);
}

}  // namespace

std::string train(Run& run, Journal& journal, const Surroundings& surroundings) {
  const Recipe& recipe = run.recipe;
  Engine& engine = run.engine;
  Feed feed(*run.data.train, training_options(recipe, engine), recipe.train.accumulation_steps);
  const Interval log_interval(recipe.train.log_every), eval_interval(recipe.eval.every);
  const auto began = Clock::now();
  Requests requests;
  bool evaluated = false;
  for (const auto& hook : run.hooks) hook->start(run.progress, surroundings.folder, requests);

  const auto done = [&] {
    return run.plan.reached(run.progress) || (surroundings.steps && run.progress.step >= *surroundings.steps);
  };
  const auto diverged = [&] { return !run.divergence.problem().empty(); };
  while (!done() && !diverged() && !requests.stop_reason() && !surroundings.interrupted()) {
    fulfil(requests, run, journal);
    const Feeding feeding = feed.next();
    seed_generators(recipe, feeding.begin);
    const WindowLoss loss = engine.accumulate(feeding.window, *run.loss);

    for (const auto& hook : run.hooks) {
      if (!hook->wants_gradients(run.progress)) continue;
      hook->before_update(run.progress, loss.mean(), engine.gradient_norm().item<double>(), requests);
    }
    const Progress before = run.progress;
    Progress now = behind(feeding, before, run.plan, seconds_since(began));
    const double factor = learning_rate_factor(run, requests);
    StepReport report{loss, run.optimizer->peak_lr() * factor, feeding.samples};
    if (log_interval.passed(before, now)) report.gradient_norm = engine.gradient_norm();

    const bool looked_at = log_interval.passed(before, now) || eval_interval.passed(before, now);
    const bool skip = requests.take_skip() || run.divergence.refuses(loss, now.step, looked_at);
    if (skip) engine.discard_gradients();
    if (skip || !engine.update(*run.optimizer, factor)) now = without_update(now, run.plan);

    run.progress = now;
    journal.step(now, report);
    for (const auto& hook : run.hooks) hook->after_step(now, requests);
    if (log_interval.passed(before, now))
      journal.training(now, engine.precision().report(), requests.take_measurements());
    if (diverged()) break;
    evaluated = eval_interval.passed(before, now);
    if (evaluated) measure(run, journal, requests, surroundings);
  }
  if (feed.unreadable_samples() > 0)
    log::warning("{} samples could not be read; others took their places.", feed.unreadable_samples());
  const bool interrupted = surroundings.interrupted();  // whoever wants it to end does not want to wait
  const bool never = recipe.eval.every.unit == Duration::Unit::never;
  if (!evaluated && !interrupted && !diverged() && !never) measure(run, journal, requests, surroundings);
  run.divergence.look_at(*run.model);
  for (const auto& hook : run.hooks) hook->finish(run.progress, requests);
  journal.measurements(run.progress, requests.take_measurements());
  fulfil(requests, run, journal);
  if (diverged()) return run.divergence.problem();
  return interrupted ? "interrupted" : requests.stop_reason().value_or("");
}

}  // namespace runner
