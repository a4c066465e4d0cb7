#include "runner/train/run_summary.hpp"

#include "registry/base/log.hpp"
#include "runner/engine/runtime/device.hpp"
#include "runner/runs/tracking/build_trackers.hpp"

namespace runner {

RunSummary summary_of(const Run& run, const std::string& recipe_file, const std::filesystem::path& folder) {
  const Recipe& recipe = run.recipe;
  RunSummary summary;
  summary.name = recipe.run.name;
  summary.recipe = recipe_file;
  summary.model = recipe.model.name();
  const auto [parameters, trained] = run.engine.parameter_counts();
  summary.parameters = parameters;
  summary.trained_parameters = trained;
  summary.dataset = recipe.dataset.name();
  summary.train_examples = run.data.train->size();
  summary.eval_examples = run.data.eval ? run.data.eval->size() : 0;
  summary.batch_size = recipe.loader.batch_size;
  summary.eval_batch_size = recipe.loader.eval_batch_size.value_or(recipe.loader.batch_size);
  summary.accumulation_steps = recipe.train.accumulation_steps;
  summary.steps_per_epoch = run.plan.steps_per_epoch;
  summary.total_steps = run.plan.total_steps.value_or(0);
  summary.epochs = recipe.train.epochs;
  summary.max_seconds = run.plan.max_seconds;
  summary.loss = recipe.loss.name();
  summary.optimizer = recipe.optimizer.name();
  summary.scheduler = recipe.scheduler.name();
  summary.precision = run.engine.precision().summary();
  summary.device = describe_device(run.engine.device());
  summary.trackers = tracker_names(recipe.tracker);
  for (const auto& hook : recipe.hook) summary.hooks.push_back(hook.name());
  summary.folder = folder;
  summary.stand_in = run.data.stand_in;
  return summary;
}

RunResult result_of(const Run& run, const Journal& journal) {
  RunResult result;
  result.steps = run.progress.step;
  result.skipped_steps = run.progress.skipped_steps;
  result.epochs = run.progress.exact_epoch;
  if (const BestModel::Kept* best = run.best ? run.best->best() : nullptr)
    result.best = {run.best->rule().metric, best->value, best->step, best->epoch};
  result.objective = objective_of(run.recipe);
  for (const Measured& each : run.measured)
    if (each.better && !each.name.ends_with('*')) result.better[each.name] = *each.better;
  result.last = journal.last_evaluation();
  const TimeLedger& times = run.engine.times();
  result.seconds = times.total();
  for (std::size_t i = 0; i < TimeLedger::names.size(); ++i)
    result.time.emplace_back(TimeLedger::names[i], times.seconds(static_cast<TimeLedger::Activity>(i)));
  result.warnings = log::warnings();
  result.stand_in = run.data.stand_in;
  result.versions = versions_and_threads();
  return result;
}

ClosingSummary closing_of(const RunResult& result, const Journal& journal) {
  ClosingSummary closing;
  closing.outcome = result.outcome;
  closing.reason = result.message;
  if (result.outcome == Outcome::interrupted)
    closing.reason = result.message.empty() ? "interrupted" : "interrupted: " + result.message;
  closing.steps = result.steps;
  closing.skipped_steps = result.skipped_steps;
  closing.epochs = result.epochs;
  closing.seconds = result.seconds;
  if (result.best)
    closing.best = {result.best->metric, result.best->value, result.best->step, result.best->epoch};
  closing.last = result.last;
  closing.loss_curve = journal.loss_curve();
  closing.time = result.time;
  closing.files = result.files;
  closing.warnings = result.warnings;
  closing.stand_in = result.stand_in;
  return closing;
}

}  // namespace runner
