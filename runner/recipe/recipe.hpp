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
  bool cudnn_benchmark = false;
  int threads = 0;
  std::string device = "auto";
  MemoryFormat memory_format = MemoryFormat::automatic;
  std::vector<std::string> tags = {};
};
constexpr auto describe(std::type_identity<RunSection>) {
  return fields(
      field("name", &RunSection::name, "Name of the run, and of the folder that its runs are in.",
            non_empty(), harmless()),
      field("dir", &RunSection::dir, "Folder of this run; default: runs/<name>/<time> in the current folder.",
            not_compared()),
      field("seed", &RunSection::seed, "Seed of initialisation, data order, augmentation and dropout.",
            within(0, 9007199254740991), changes_course()),
      field("deterministic", &RunSection::deterministic,
            "Refuse operators whose results may differ from run to run.", changes_course()),
      field("cudnn_benchmark", &RunSection::cudnn_benchmark,
            "On CUDA devices, let cuDNN try its kernels for each shape and take the fastest: worth it for "
            "convolutions "
            "whose shapes stay the same.",
            changes_course()),
      field("threads", &RunSection::threads, "CPU threads; 0: one per core.", within(0, 1024),
            changes_course()),
      field("device", &RunSection::device,
            "\"auto\" (an accelerator if there is one), \"cpu\", \"cuda:1\", or another accelerator that "
            "LibTorch "
            "knows, such as \"xpu\" or \"mps\".",
            non_empty(), changes_course()),
      field("memory_format", &RunSection::memory_format, "Memory layout of images.", changes_course()),
      field("tags", &RunSection::tags, "Tags of the run, for the trackers that have tags.", harmless()));
}
void check(const RunSection& run, Report& report);

enum class OnError { stop, skip };
constexpr auto describe(std::type_identity<OnError>) {
  return choices(
      choice("stop", OnError::stop, "the run ends and names the file"),
      choice("skip", OnError::skip,
             "the example is replaced by another in training, skipped in evaluation, and counted"));
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
      field("batch_size", &LoaderSection::batch_size, "Examples per micro-batch.",
            within(1, most_examples_at_once), changes_course()),
      field("eval_batch_size", &LoaderSection::eval_batch_size,
            "Examples per batch in evaluation; default: batch_size.", within(1, most_examples_at_once),
            harmless()),
      field("shuffle", &LoaderSection::shuffle,
            "Shuffle the training set every epoch; the order depends on seed and epoch only.",
            changes_course()),
      field("workers", &LoaderSection::workers,
            "Background threads that assemble batches; 0: the compute threads do it between steps. Default: "
            "0 on a CPU, where they would compete for its cores; otherwise one for each core of the rank but "
            "one, at most 8.",
            within(0, 256), harmless()),
      field("prefetch", &LoaderSection::prefetch,
            "Batches that workers keep ready; default: 4. Setting it implies one worker, on a CPU too.",
            within(1, 1024), harmless()),
      field("on_error", &LoaderSection::on_error, "What to do with an example that cannot be read.",
            changes_course()),
      field("overfit_batches", &LoaderSection::overfit_batches,
            "Train and evaluate on this many random batches of the training set, again and again: a model "
            "that cannot memorise them has a bug.",
            within(1, 1e6), changes_course()));
}

void check(const LoaderSection& loader, Report& report);

enum class OnDivergence { stop, go_on };
constexpr auto describe(std::type_identity<OnDivergence>) {
  return choices(choice("stop", OnDivergence::stop,
                        "the update is skipped and the run fails, with the weights of the previous step"),
                 choice("continue", OnDivergence::go_on, "the run continues and warns once"));
}

struct TrainSection {
  std::optional<double> epochs;
  std::optional<std::int64_t> max_steps;
  std::optional<Duration> max_time;
  std::int64_t accumulation_steps = 1;
  std::optional<double> clip_norm;
  std::optional<double> clip_value;
  Duration log_every = steps(50);
  OnOutOfMemory on_out_of_memory = OnOutOfMemory::stop;
  bool cuda_graphs = false;
  OnDivergence on_divergence = OnDivergence::stop;
};
constexpr auto describe(std::type_identity<TrainSection>) {
  return fields(
      field("epochs", &TrainSection::epochs, "End the run after this many passes over the training set.",
            above(0), at_most(1e9), sets_length()),
      field("max_steps", &TrainSection::max_steps,
            "End the run after this many update steps; 0: evaluate only.", within(0, 1e12), sets_length()),
      field("max_time", &TrainSection::max_time, "End the run after this time.", in_units({"s"}), above(0),
            may_end_run()),
      field("accumulation_steps", &TrainSection::accumulation_steps,
            "Micro-batches per update step (gradient accumulation).", within(1, 1e6), changes_course()),
      field("clip_norm", &TrainSection::clip_norm, "Clip gradients to this total norm.", above(0),
            changes_course()),
      field("clip_value", &TrainSection::clip_value,
            "Clip each element of the gradients to this absolute value.", above(0), changes_course()),
      field("log_every", &TrainSection::log_every,
            "How often the training loss and learning rate are logged.", above(0), harmless()),
      field("on_out_of_memory", &TrainSection::on_out_of_memory,
            "What to do when a micro-batch does not fit into memory. With \"split\", batch norm sees the "
            "smaller "
            "batches.",
            harmless()),
      field("cuda_graphs", &TrainSection::cuda_graphs,
            "Record forward and backward as CUDA graphs and replay them: faster for small models on a GPU. "
            "Micro-batches of a rare shape, such as the last ones of an epoch, are computed without a graph.",
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
  return fields(field("every", &EvalSection::every,
                      "How often the model is evaluated, and in any case at the end; \"never\": not at all.",
                      above(0), or_never(), sets_evaluations()),
                field("metric", &EvalSection::metric, "Metrics to compute.", harmless()));
}

enum class SweepSearch { automatic, grid, random, tpe };
constexpr auto describe(std::type_identity<SweepSearch>) {
  return choices(
      choice("auto", SweepSearch::automatic, "grid if all values can be tried, otherwise tpe"),
      choice("grid", SweepSearch::grid, "every combination"),
      choice("random", SweepSearch::random, "values drawn at random"),
      choice("tpe", SweepSearch::tpe, "tree-structured Parzen estimator: values like the best ones so far"));
}

struct SweepSection {
  std::vector<std::string> over = {};
  SweepSearch search = SweepSearch::automatic;
  std::optional<std::int64_t> samples = {};
  std::int64_t jobs = 1;
  std::int64_t ranks = 1;
  bool halving = false;
  std::int64_t seed = 0;
};
constexpr auto describe(std::type_identity<SweepSection>) {
  return fields(
      field("over", &SweepSection::over,
            "Which keys take which values: \"optimizer.lr=log_uniform(1e-4, 0.1)\", "
            "\"run.seed=range(0, 3)\", uniform(low, high), log_int(low, high) or choice(a, b).",
            required(), non_empty(), harmless()),
      field("search", &SweepSection::search, "How values are chosen.", harmless()),
      field("samples", &SweepSection::samples, "Number of trials; for a grid, at most.", at_least(1),
            harmless()),
      field("jobs", &SweepSection::jobs, "Trials at the same time; they share the cores.", at_least(1),
            harmless()),
      field("ranks", &SweepSection::ranks, "Ranks of each trial, as with `runner launch -n`.", at_least(1),
            harmless()),
      field("halving", &SweepSection::halving,
            "Stop a trial early unless it is among the best third of the trials that reached the same "
            "evaluation.",
            harmless()),
      field("seed", &SweepSection::seed, "Seed of the random values.", at_least(0), harmless()));
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
  DistributedOptions distributed;
  std::vector<Part<TrackerKind>> tracker;
  std::vector<Part<HookKind>> hook;
  std::optional<SweepSection> sweep;
};
constexpr auto describe(std::type_identity<Recipe>) {
  return fields(
      field("plugins", &Recipe::plugins,
            "Files with components of your own, in the recipe's folder or on RUNNER_PLUGIN_PATH.",
            not_compared()),
      field("run", &Recipe::run, "Name, folder, seed and device of the run."),
      field("model", &Recipe::model, "The network to train.", required()),
      field("dataset", &Recipe::dataset, "Examples to train on and to evaluate with.", required()),
      field("loader", &Recipe::loader, "Batching and loading of examples."),
      field("loss", &Recipe::loss, "The objective that training minimises."),
      field("optimizer", &Recipe::optimizer, "Updates the weights from the gradients.", required()),
      field("scheduler", &Recipe::scheduler, "The learning rate over the run."),
      field("precision", &Recipe::precision, "The number format of the forward and backward pass."),
      field("train", &Recipe::train, "Length of the run, gradient accumulation and clipping."),
      field("eval", &Recipe::eval, "When the model is evaluated, and by which metrics."),
      field("checkpoint", &Recipe::checkpoint, "When checkpoints are written, and how a run is continued."),
      field("distributed", &Recipe::distributed, "How several ranks train together."),
      field("tracker", &Recipe::tracker, "Where metrics are written, in addition to metrics.jsonl."),
      field("hook", &Recipe::hook, "Extensions that observe the run and may stop it."),
      field("sweep", &Recipe::sweep, "What `runner sweep` searches; other commands do not use it.",
            harmless()));
}

// Reports contradictions between sections.
void check(const Recipe& recipe, Report& report);

}  // namespace runner
