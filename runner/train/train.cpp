#include "runner/train/train.hpp"

#include <torch/types.h>
#include <torch/utils.h>

#include <chrono>

#include "components/transforms/sample_random.hpp"
#include "registry/log.hpp"
#include "runner/train/evaluate.hpp"
#include "runner/train/feed.hpp"
#include "runner/train/interval.hpp"
#include "runner/train/model_file.hpp"

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
      evaluate(run, surroundings.eval_batches, [&](double share) { journal.evaluating(share); });
  if (evaluation.measurements.empty()) return;
  const bool best = run.best && run.best->improved(run.progress, evaluation.measurements);
  if (best) save_model(*run.model, surroundings.best_model);
  journal.evaluation(run.progress, evaluation, seconds_since(began), best);
  run.learning_rate.schedule().observe(evaluation.measurements);
  for (const auto& hook : run.hooks) hook->after_eval(run.progress, evaluation.measurements, requests);
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

  const auto done = [&] {
    return run.plan.reached(run.progress) || (surroundings.steps && run.progress.step >= *surroundings.steps);
  };
  while (!done() && !requests.stop_reason() && !surroundings.interrupted()) {
    const Feeding feeding = feed.next();
    seed_generators(recipe, feeding.begin);
    const torch::Tensor loss = engine.accumulate(feeding.window, *run.loss);

    for (const auto& hook : run.hooks) {
      if (!hook->wants_gradients()) continue;
      hook->before_update(run.progress, loss.item<double>(), engine.gradient_norm().item<double>(), requests);
    }
    const Progress before = run.progress;
    Progress now = behind(feeding, before, run.plan, seconds_since(began));
    StepReport report{loss, run.optimizer->peak_lr() * run.learning_rate.factor(before.step),
                      feeding.samples};
    if (log_interval.passed(before, now)) report.gradient_norm = engine.gradient_norm();

    const bool skip = requests.take_skip();
    if (skip) engine.discard_gradients();
    if (skip || !engine.update(*run.optimizer, run.learning_rate.factor(before.step)))
      now = without_update(now, run.plan);

    run.progress = now;
    journal.step(now, report);
    for (const auto& hook : run.hooks) hook->after_step(now, requests);
    if (log_interval.passed(before, now))
      journal.training(now, engine.precision().report(), requests.take_measurements());
    evaluated = eval_interval.passed(before, now);
    if (evaluated) measure(run, journal, requests, surroundings);
  }
  if (feed.unreadable_samples() > 0)
    log::warning("{} samples could not be read; others took their places.", feed.unreadable_samples());
  if (surroundings.interrupted()) return "interrupted";  // whoever wants it to end does not want to wait
  if (!evaluated) measure(run, journal, requests, surroundings);
  return requests.stop_reason().value_or("");
}

}  // namespace runner
