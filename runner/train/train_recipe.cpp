#include "runner/train/train_recipe.hpp"

#include "registry/log.hpp"
#include "runner/console/console.hpp"
#include "runner/engine/allocator.hpp"
#include "runner/engine/cpu_isa.hpp"
#include "runner/engine/device.hpp"
#include "runner/recipe/write.hpp"
#include "runner/run_folder/data_spec_file.hpp"
#include "runner/run_folder/run_folder.hpp"
#include "runner/tracking/build_trackers.hpp"
#include "runner/train/assemble.hpp"
#include "runner/train/kept_weights.hpp"
#include "runner/train/model_file.hpp"
#include "runner/train/rehearsal.hpp"
#include "runner/train/run_facts.hpp"
#include "runner/train/stop_signal.hpp"
#include "runner/train/train.hpp"

namespace runner {

namespace {

constexpr std::int64_t dry_run_steps = 2, dry_run_eval_batches = 4;

template <class Parts>
std::vector<std::string> names_of(const Parts& parts) {
  std::vector<std::string> names;
  for (const auto& part : parts) names.push_back(part.name());
  return names;
}

RunSummary summary_of(const Run& run, const RunFolder& folder, const RunOptions& options) {
  const Recipe& recipe = run.recipe;
  RunSummary summary;
  summary.name = recipe.run.name;
  summary.recipe = options.recipe_file;
  summary.model = recipe.model.name();
  for (const torch::Tensor& parameter : run.model->parameters()) {
    summary.parameters += parameter.numel();
    if (parameter.requires_grad()) summary.trained_parameters += parameter.numel();
  }
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
  summary.hooks = names_of(recipe.hook);
  if (!options.dry_run) summary.folder = folder.path();
  summary.stand_in = run.data.stand_in;
  return summary;
}

using NamedFile = std::pair<std::string, std::filesystem::path>;

// All weights of the run; what each file is, and where.
std::vector<NamedFile> save_all_weights(Run& run, const RunFolder& folder) {
  std::vector<NamedFile> files;
  if (run.recipe.train.on_divergence == OnDivergence::stop && !weights_are_finite(*run.model)) {
    log::error("The weights hold numbers that are not finite, so model.safetensors is not written.");
  } else {
    files.emplace_back("model", folder.file("model.safetensors"));
    save_model(*run.model, files.back().second);
  }
  for (const KeptWeights* weights : kept_weights(run)) {
    if (weights->tensors.empty()) {
      log::warning("Hook \"{}\" has no weights to save: the run ended before it began.", weights->name);
      continue;
    }
    files.emplace_back(weights->name + " model", folder.file(weights->name + ".safetensors"));
    save_weights(run, weights->name, files.back().second);
  }
  return files;
}

ClosingSummary closing_of(const Run& run, const RunFolder& folder, const Journal& journal,
                          const std::string& reason, std::vector<NamedFile> files) {
  ClosingSummary closing;
  closing.ending = reason.empty() ? ClosingSummary::Ending::finished : ClosingSummary::Ending::stopped;
  if (!run.divergence.problem().empty()) closing.ending = ClosingSummary::Ending::failed;
  closing.reason = reason;
  closing.steps = run.progress.step;
  closing.skipped_steps = run.progress.skipped_steps;
  closing.epochs = run.progress.exact_epoch;
  closing.seconds = run.progress.seconds;
  if (run.best && run.best->value()) {
    const Progress& when = run.best->when();
    closing.best = {run.best->rule().metric, *run.best->value(), when.step, when.exact_epoch};
  }
  closing.last = journal.last_evaluation();
  closing.loss_curve = journal.loss_curve();
  if (!folder.temporary()) {
    closing.files = std::move(files);
    if (closing.best) closing.files.emplace_back("best model", folder.file("best.safetensors"));
    closing.files.emplace_back("measurements", folder.file("metrics.jsonl"));
  }
  closing.warnings = log::warnings();
  closing.stand_in = run.data.stand_in;
  return closing;
}

}  // namespace

int run_recipe(const Value& resolved, const Registry& registry, const RunOptions& options) {
  keep_freed_memory();
  const Recipe recipe = decode_table<Recipe>(resolved, registry);
  if (const std::string steered = steer_around_broken_instructions(); !steered.empty()) log::warning(steered);
  Run run = assemble(recipe);
  rehearse(run);
  const RunFolder folder = options.dry_run ? RunFolder::make_temporary() : RunFolder::create(recipe.run);
  folder.write("recipe.toml", write_toml(resolved));
  folder.write("data_spec.json", write_data_spec(run.data.train->spec()));
  if (!run.data.learned.empty()) folder.write("dataset.json", run.data.learned);
  log::add_file(folder.file("log.txt"));
  if (!run.data.stand_in.empty()) folder.write("STAND-IN-DATA.txt", run.data.stand_in + "\n");

  Console console;
  console.summary(summary_of(run, folder, options));
  TrackerThread trackers(build_trackers(recipe.tracker, registry, {folder.path()}),
                         run_facts(recipe.run.name, folder.path(), resolved));
  Journal journal(trackers, console, run.plan, recipe.train.epochs);
  const StopSignal signal;
  Surroundings surroundings{[&] { return signal.received() != 0; }, folder.path()};
  if (options.dry_run) {
    surroundings.steps = dry_run_steps;
    surroundings.eval_batches = dry_run_eval_batches;
  }

  const std::string reason = train(run, journal, surroundings);
  auto files = save_all_weights(run, folder);
  const bool diverged = !run.divergence.problem().empty();
  trackers.finish(diverged ? Outcome::failed : reason.empty() ? Outcome::finished : Outcome::stopped);
  console.closing(closing_of(run, folder, journal, reason, std::move(files)));
  log::close_files();
  if (diverged) return 1;
  return signal.received() != 0 ? 128 + signal.received() : 0;
}

}  // namespace runner
