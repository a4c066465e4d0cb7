#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "components/datasets/dataset.hpp"
#include "components/hooks/hook.hpp"
#include "components/losses/loss.hpp"
#include "components/metrics/metric.hpp"
#include "components/models/model.hpp"
#include "components/optimizers/optimizer.hpp"
#include "components/precisions/precision.hpp"
#include "components/schedulers/scheduler.hpp"
#include "components/trackers/tracker.hpp"
#include "runner/checkpoint/checkpoint_section.hpp"
#include "runner/engine/options.hpp"

namespace runner {

// A whole recipe, typed. Nothing downstream looks at TOML again.

struct RunSection {
  std::string name = "run";
  std::optional<std::filesystem::path> dir;
  std::int64_t seed = 0;
  bool deterministic = false;
  int threads = 0;
  std::string device = "auto";
  MemoryFormat memory_format = MemoryFormat::automatic;
  std::vector<std::string> tags = {};
};
constexpr auto describe(std::type_identity<RunSection>) {
  return fields(
      field("name", &RunSection::name, "What the run is called; part of its folder.", non_empty(),
            harmless()),
      field("dir", &RunSection::dir, "The run's own folder; runs/<name>/<time> where not given.", harmless()),
      field("seed", &RunSection::seed, "Fixes initialisation, order, augmentation and dropout.",
            within(0, 9007199254740991), changes_course()),
      field("deterministic", &RunSection::deterministic,
            "Refuse operators whose result may differ from run to run.", changes_course()),
      field("threads", &RunSection::threads, "CPU threads for computing; 0: all cores.", within(0, 1024),
            changes_course()),
      field("device", &RunSection::device, "\"auto\" (CUDA where there is one), \"cpu\" or \"cuda:1\".",
            non_empty(), changes_course()),
      field("memory_format", &RunSection::memory_format, "How images lie in memory.", changes_course()),
      field("tags", &RunSection::tags, "Words to find the run by, for the trackers that have tags.",
            harmless()));
}
void check(const RunSection& run, Report& report);

enum class OnError { stop, skip };
constexpr auto describe(std::type_identity<OnError>) {
  return choices(
      choice("stop", OnError::stop, "the run ends and names the file"),
      choice("skip", OnError::skip,
             "the sample is replaced in training, left out of an evaluation, counted and reported"));
}

inline constexpr double most_examples_at_once = 1 << 24;

struct LoaderSection {
  std::int64_t batch_size = 64;
  std::optional<std::int64_t> eval_batch_size;
  bool shuffle = true;
  std::optional<int> workers;
  std::optional<int> prefetch;
  OnError on_error = OnError::stop;
  std::optional<std::int64_t> overfit_batches;
};
constexpr auto describe(std::type_identity<LoaderSection>) {
  return fields(
      field("batch_size", &LoaderSection::batch_size, "Examples in one micro-batch.",
            within(1, most_examples_at_once), changes_course()),
      field("eval_batch_size", &LoaderSection::eval_batch_size,
            "The same for evaluation; batch_size where not given.", within(1, most_examples_at_once),
            harmless()),
      field("shuffle", &LoaderSection::shuffle,
            "A new order every epoch, a function of seed and epoch alone.", changes_course()),
      field(
          "workers", &LoaderSection::workers,
          "Threads that assemble batches in the background; 0: the threads that compute do it between steps. "
          "Not given: 0 on a CPU, where they would share its cores, otherwise 1.",
          within(0, 256), harmless()),
      field("prefetch", &LoaderSection::prefetch,
            "Batches that workers keep ready; 4 where not given. Who gives it wants a worker, on a CPU too.",
            within(1, 1024), harmless()),
      field("on_error", &LoaderSection::on_error, "What to do about a sample that cannot be read.",
            changes_course()),
      field("overfit_batches", &LoaderSection::overfit_batches,
            "Train and evaluate on this many batches of the training set, a random sample of its examples, "
            "again "
            "and again: a model that cannot learn them by heart has a mistake in it.",
            within(1, 1e6), changes_course()));
}

void check(const LoaderSection& loader, Report& report);

enum class OnDivergence { stop, resume };
constexpr auto describe(std::type_identity<OnDivergence>) {
  return choices(choice("stop", OnDivergence::stop,
                        "the update is left out and the run fails, with the weights of the step before"),
                 choice("continue", OnDivergence::resume, "the run says so once and goes on as it is"));
}

struct TrainSection {
  std::optional<double> epochs;
  std::optional<std::int64_t> max_steps;
  std::optional<Duration> max_time;
  std::int64_t accumulation_steps = 1;
  std::optional<double> clip_norm;
  std::optional<double> clip_value;
  Duration log_every = steps(50);
  OnFullMemory on_out_of_memory = OnFullMemory::stop;
  OnDivergence on_divergence = OnDivergence::stop;
};
constexpr auto describe(std::type_identity<TrainSection>) {
  return fields(
      field("epochs", &TrainSection::epochs, "Ends the run after this many passes over the data.", above(0),
            at_most(1e9), harmless()),
      field("max_steps", &TrainSection::max_steps,
            "Ends the run after this many optimizer updates; 0: evaluate only.", within(0, 1e12), harmless()),
      field("max_time", &TrainSection::max_time, "Ends the run after this time.", in_units({"s"}), above(0),
            harmless()),
      field("accumulation_steps", &TrainSection::accumulation_steps, "Micro-batches in one optimizer update.",
            within(1, 1e6), changes_course()),
      field("clip_norm", &TrainSection::clip_norm, "Scales gradients down to this total norm.", above(0),
            changes_course()),
      field("clip_value", &TrainSection::clip_value, "Limits each gradient element to this size.", above(0),
            changes_course()),
      field("log_every", &TrainSection::log_every, "How often training is measured and logged.", above(0),
            harmless()),
      field("on_out_of_memory", &TrainSection::on_out_of_memory,
            "What to do when a micro-batch does not fit into memory. Batch-norm sees the smaller ones.",
            harmless()),
      field("on_divergence", &TrainSection::on_divergence,
            "What to do when the loss is no longer a finite number.", harmless()));
}
void check(const TrainSection& train, Report& report);

struct EvalSection {
  Duration every = epochs(1);
  std::vector<Part<MetricKind>> metric = {"loss"};
};
constexpr auto describe(std::type_identity<EvalSection>) {
  return fields(
      field("every", &EvalSection::every,
            "How often the evaluation set is measured, and in any case at the end; \"never\": not at all.",
            above(0), or_never(), harmless()),
      field("metric", &EvalSection::metric, "What is measured.", harmless()));
}

enum class SweepSearch { automatic, grid, random, tpe };
constexpr auto describe(std::type_identity<SweepSearch>) {
  return choices(choice("auto", SweepSearch::automatic, "grid where all values can be tried, else tpe"),
                 choice("grid", SweepSearch::grid, "every combination"),
                 choice("random", SweepSearch::random, "values drawn at random"),
                 choice("tpe", SweepSearch::tpe, "values that look promising after the trials so far"));
}

struct SweepSection {
  std::vector<std::string> over = {};
  SweepSearch search = SweepSearch::automatic;
  std::optional<std::int64_t> samples = {};
  std::int64_t jobs = 1;
  bool halving = false;
  std::int64_t seed = 0;
};
constexpr auto describe(std::type_identity<SweepSection>) {
  return fields(
      field("over", &SweepSection::over,
            "Which keys take which values: \"optimizer.lr=log_uniform(1e-4, 0.1)\", "
            "\"run.seed=range(0, 3)\", uniform(low, high) or choice(a, b).",
            required(), non_empty()),
      field("search", &SweepSection::search, "How values are found."),
      field("samples", &SweepSection::samples, "How many trials; for a grid, at most.", at_least(1)),
      field("jobs", &SweepSection::jobs, "Trials at the same time; they share the cores.", at_least(1)),
      field("halving", &SweepSection::halving,
            "Stop trials early that are not among the best third of those that came as far."),
      field("seed", &SweepSection::seed, "Of what is drawn at random.", at_least(0)));
}

struct Recipe {
  std::vector<std::string> plugins;
  RunSection run;
  Part<ModelKind> model;
  Part<DatasetKind> dataset;
  LoaderSection loader;
  Part<LossKind> loss = "cross_entropy";
  Part<OptimizerKind> optimizer;
  Part<SchedulerKind> scheduler = "constant";
  Part<PrecisionKind> precision = "fp32";
  TrainSection train;
  EvalSection eval;
  CheckpointSection checkpoint;
  std::vector<Part<TrackerKind>> tracker;
  std::vector<Part<HookKind>> hook;
  std::optional<SweepSection> sweep;
};
constexpr auto describe(std::type_identity<Recipe>) {
  return fields(field("plugins", &Recipe::plugins,
                      "Files with components of your own, in the recipe's folder or on RUNNER_PLUGIN_PATH."),
                field("run", &Recipe::run, "The run itself: its name, folder, seed and device."),
                field("model", &Recipe::model, "The network that is trained.", required()),
                field("dataset", &Recipe::dataset, "Examples to train on and to evaluate with.", required()),
                field("loader", &Recipe::loader, "How examples become batches."),
                field("loss", &Recipe::loss, "What training makes small."),
                field("optimizer", &Recipe::optimizer, "Updates the weights from the gradients.", required()),
                field("scheduler", &Recipe::scheduler, "The learning rate over the run."),
                field("precision", &Recipe::precision, "The number format of the forward and backward pass."),
                field("train", &Recipe::train, "How long, and how an update is made."),
                field("eval", &Recipe::eval, "When the evaluation set is measured, and what is."),
                field("checkpoint", &Recipe::checkpoint, "When the whole run is saved, and how it goes on."),
                field("tracker", &Recipe::tracker, "Where measurements are written, beside metrics.jsonl."),
                field("hook", &Recipe::hook, "What watches the run and may stop it."),
                field("sweep", &Recipe::sweep, "What `runner sweep` tries; a run by itself tries nothing."));
}

// Contradictions between parts that no single part can see.
void check(const Recipe& recipe, Report& report);

}  // namespace runner
