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

namespace runner {

// A whole recipe, typed. Nothing downstream looks at TOML again.

enum class MemoryFormat { automatic, contiguous, channels_last };
constexpr auto describe(std::type_identity<MemoryFormat>) {
  return choices(choice("auto", MemoryFormat::automatic, "what the model prefers"),
                 choice("contiguous", MemoryFormat::contiguous, "channels first"),
                 choice("channels_last", MemoryFormat::channels_last, "faster for most convolution nets"));
}

struct RunSection {
  std::string name = "run";
  std::optional<std::filesystem::path> dir;
  std::int64_t seed = 0;
  bool deterministic = false;
  int threads = 0;
  std::string device = "auto";
  MemoryFormat memory_format = MemoryFormat::automatic;
};
constexpr auto describe(std::type_identity<RunSection>) {
  return fields(field("name", &RunSection::name, "Name of the run, and of the folder that its runs are in.",
                      non_empty()),
                field("dir", &RunSection::dir,
                      "Folder of this run; default: runs/<name>/<time> in the current folder."),
                field("seed", &RunSection::seed,
                      "Seed of initialisation, data order, augmentation and dropout.", at_least(0)),
                field("deterministic", &RunSection::deterministic,
                      "Refuse operators whose results may differ from run to run."),
                field("threads", &RunSection::threads, "CPU threads; 0: one per core.", within(0, 1024)),
                field("device", &RunSection::device,
                      "\"auto\" (CUDA where there is one), \"cpu\" or \"cuda:1\".", non_empty()),
                field("memory_format", &RunSection::memory_format, "Memory layout of images."));
}
void check(const RunSection& run, Report& report);

enum class OnError { stop, skip };
constexpr auto describe(std::type_identity<OnError>) {
  return choices(
      choice("stop", OnError::stop, "the run ends and names the file"),
      choice("skip", OnError::skip,
             "the example is replaced by another in training, left out of an evaluation, and counted"));
}

enum class OnFullMemory { stop, split };
constexpr auto describe(std::type_identity<OnFullMemory>) {
  return choices(choice("stop", OnFullMemory::stop, "the run ends, with advice on what would help"),
                 choice("split", OnFullMemory::split,
                        "micro-batches are halved until they fit; an update still uses the same examples"));
}

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
      field("batch_size", &LoaderSection::batch_size, "Examples per micro-batch.", at_least(1)),
      field("eval_batch_size", &LoaderSection::eval_batch_size,
            "Examples per batch in evaluation; default: batch_size.", at_least(1)),
      field("shuffle", &LoaderSection::shuffle,
            "Shuffle the training set every epoch; the order depends on seed and epoch only."),
      field("workers", &LoaderSection::workers,
            "Background threads that assemble batches; 0: the compute threads do it between steps. Default: "
            "0 on a "
            "CPU, where they would compete for its cores, otherwise 1.",
            within(0, 256)),
      field("prefetch", &LoaderSection::prefetch,
            "Batches that workers keep ready; default: 4. Setting it implies one worker, on a CPU too.",
            within(1, 1024)),
      field("on_error", &LoaderSection::on_error, "What to do with an example that cannot be read."),
      field("overfit_batches", &LoaderSection::overfit_batches,
            "Train and evaluate on the examples of the first N update steps only, over and over, for as many "
            "steps as the run has anyway: a model that cannot learn these by heart has a mistake in it.",
            at_least(1)));
}

void check(const LoaderSection& loader, Report& report);

struct TrainSection {
  std::optional<double> epochs;
  std::optional<std::int64_t> max_steps;
  std::optional<Duration> max_time;
  std::int64_t accumulation_steps = 1;
  std::optional<double> clip_norm;
  std::optional<double> clip_value;
  Duration log_every = steps(50);
  OnFullMemory on_out_of_memory = OnFullMemory::stop;
};
constexpr auto describe(std::type_identity<TrainSection>) {
  return fields(
      field("epochs", &TrainSection::epochs, "End the run after this many passes over the training set.",
            above(0)),
      field("max_steps", &TrainSection::max_steps,
            "End the run after this many update steps; 0: evaluate only.", at_least(0)),
      field("max_time", &TrainSection::max_time, "End the run after this time.", in_units({"s"}), above(0)),
      field("accumulation_steps", &TrainSection::accumulation_steps,
            "Micro-batches per update step (gradient accumulation).", at_least(1)),
      field("clip_norm", &TrainSection::clip_norm, "Clip gradients to this total norm.", above(0)),
      field("clip_value", &TrainSection::clip_value,
            "Clip each element of the gradients to this absolute value.", above(0)),
      field("log_every", &TrainSection::log_every,
            "How often the training loss and learning rate are logged.", above(0)),
      field("on_out_of_memory", &TrainSection::on_out_of_memory,
            "What to do when a micro-batch does not fit into memory. With \"split\", batch norm sees the "
            "smaller "
            "batches."));
}
void check(const TrainSection& train, Report& report);

struct EvalSection {
  Duration every = epochs(1);
  std::vector<Part<MetricKind>> metric = {"loss"};
};
constexpr auto describe(std::type_identity<EvalSection>) {
  return fields(field("every", &EvalSection::every,
                      "How often the model is evaluated; always at the end as well.", above(0)),
                field("metric", &EvalSection::metric, "Metrics to compute."));
}

enum class BestMode { max, min };
constexpr auto describe(std::type_identity<BestMode>) {
  return choices(choice("max", BestMode::max, "higher is better"),
                 choice("min", BestMode::min, "lower is better"));
}

struct BestRule {
  std::string metric;
  BestMode mode = BestMode::max;
};
constexpr auto describe(std::type_identity<BestRule>) {
  return fields(field("metric", &BestRule::metric, "Metric to go by, such as \"eval/accuracy\".", required(),
                      non_empty()),
                field("mode", &BestRule::mode, "Which direction is better."));
}

struct CheckpointSection {
  std::optional<BestRule> best;
};
constexpr auto describe(std::type_identity<CheckpointSection>) {
  return fields(field("best", &CheckpointSection::best, "Also keep the best model, as best.safetensors."));
}

struct Recipe {
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
};
constexpr auto describe(std::type_identity<Recipe>) {
  return fields(
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
      field("checkpoint", &Recipe::checkpoint, "Which models are saved."),
      field("tracker", &Recipe::tracker, "Where metrics are written, in addition to metrics.jsonl."),
      field("hook", &Recipe::hook, "Extensions that observe the run and may stop it."));
}

// Contradictions between parts that no single part can see.
void check(const Recipe& recipe, Report& report);

}  // namespace runner
