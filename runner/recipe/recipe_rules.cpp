// What the sections of a recipe require of each other. recipe.cpp has the rules within a section.
#include <algorithm>
#include <optional>
#include <string>

#include "registry/base/number_text.hpp"
#include "registry/base/wording.hpp"
#include "runner/recipe/measurements.hpp"
#include "runner/recipe/recipe.hpp"

namespace runner {

namespace {

// "100 steps", "1 epoch", "0.5 of the run".
std::string in_words(const Duration& duration) {
  const std::string amount = plain_number_text(duration.amount);
  const char* plural = duration.amount == 1 ? "" : "s";
  if (duration.unit == Duration::Unit::step) return amount + " step" + plural;
  if (duration.unit == Duration::Unit::epoch) return amount + " epoch" + plural;
  return amount + " of the run";
}

// The length of the run in the unit of the duration, if the recipe gives it in that unit: how many steps an
// epoch has is not known before the data is open.
std::optional<double> length_in_unit_of(const Duration& duration, const TrainSection& train) {
  if (duration.unit == Duration::Unit::epoch) return train.epochs;
  if (duration.unit == Duration::Unit::step && train.max_steps) return static_cast<double>(*train.max_steps);
  if (duration.unit == Duration::Unit::run) return 1.0;
  return std::nullopt;
}

std::string length_text(const Duration& duration, double length) {
  if (duration.unit == Duration::Unit::run) return "\"1run\"";
  return (duration.unit == Duration::Unit::epoch ? "train.epochs=" : "train.max_steps=") +
         plain_number_text(length);
}

void check_warmup(const Recipe& recipe, Report& report) {
  const Duration& warmup = recipe.scheduler.common.warmup;
  const auto length = length_in_unit_of(warmup, recipe.train);
  if (!length || warmup.amount == 0 || warmup.amount < *length) return;
  const std::string run = length_text(warmup, *length);
  const std::string lengths = "(" + in_words(warmup) + ") is " +
                              (warmup.amount > *length ? "longer than" : "as long as") + " the run (" + run +
                              ")";
  if (warmup.amount > *length) {
    report.error("scheduler.warmup", lengths + "; lower it, or delete it with ~scheduler.warmup");
  } else {
    report.warning("scheduler.warmup", lengths + ": the schedule itself never begins");
  }
}

// A tracker whose files the user may name has a setting "file"; others name them after the run.
bool write_the_same_files(const Part<TrackerKind>& one, const Part<TrackerKind>& other) {
  const Value settings = one.encode(), others = other.encode();
  const Value* file = settings.as<Table>()->find("file");
  const Value* other_file = others.as<Table>()->find("file");
  return one.common.logging_dir == other.common.logging_dir &&
         (!file || !other_file || same_data(*file, *other_file));
}

void check_trackers(const Recipe& recipe, Report& report) {
  for (auto tracker = recipe.tracker.begin(); tracker != recipe.tracker.end(); ++tracker) {
    const std::string name = in_quotes(tracker->name());
    const bool writes_files = tracker->facts().writes_files;
    if (tracker->common.logging_dir && !writes_files)
      report.error("tracker",
                   name + " has a logging_dir, but writes no files that could go there: delete it");
    const bool repeats = std::any_of(recipe.tracker.begin(), tracker, [&](const Part<TrackerKind>& earlier) {
      if (earlier.name() != tracker->name()) return false;
      return writes_files ? write_the_same_files(earlier, *tracker)
                          : same_data(earlier.encode(), tracker->encode());
    });
    if (!repeats) continue;
    const std::string key = "tracker." + std::to_string(tracker - recipe.tracker.begin());
    if (writes_files)
      report.error(key, "would write the same files as an earlier " + name +
                            ": delete one, or choose another logging_dir");
    else
      report.error(key, "is " + name + " with the same settings as an earlier one: delete one");
  }
}

// A hook that keeps weights of its own, such as an average, begins to do so at its setting "from".
void check_kept_weights(const Recipe& recipe, Report& report) {
  for (std::size_t i = 0; i < recipe.hook.size(); ++i) {
    if (recipe.hook[i].facts().keeps_weights.empty()) continue;
    const Value settings = recipe.hook[i].encode();
    const Value* from = settings.as<Table>()->find("from");
    const auto parsed = parse_duration(from && from->as<std::string>() ? *from->as<std::string>() : "");
    const auto* begin = std::get_if<Duration>(&parsed);
    const auto length = begin ? length_in_unit_of(*begin, recipe.train) : std::nullopt;
    if (!length || begin->amount <= *length) continue;
    report.warning(
        "hook", in_quotes(recipe.hook[i].name()) + " starts (from = " + in_quotes(to_string(*begin)) +
                    ") after the end of the run (" + length_text(*begin, *length) + ") and keeps no weights");
  }
}

// Checks the backend against the device; whether the device exists is known only in the run.
void check_backend(const Recipe& recipe, Report& report) {
  const Backend backend = recipe.distributed.backend;
  const std::string& device = recipe.run.device;
  if (backend == Backend::nccl && device == "cpu")
    report.error("distributed.backend", "\"nccl\" exchanges between GPUs, but run.device is \"cpu\"");
  if (backend == Backend::gloo && device.starts_with("cuda"))
    report.error("distributed.backend",
                 "\"gloo\" exchanges between CPUs, but run.device is " + in_quotes(device));
}

void check_sharding(const Recipe& recipe, Report& report) {
  const DistributedOptions& distributed = recipe.distributed;
  if (distributed.gather == GatherAs::compute && !recipe.precision.facts().weights_cast_to)
    report.error("distributed.gather",
                 "= \"compute\" needs a precision that casts the weights for every layer, such as \"bf16\"; "
                 "with precision " +
                     in_quotes(recipe.precision.name()) + " layers read the weights themselves: delete it");
  if (distributed.offload == Offload::cpu && recipe.run.device == "cpu")
    report.error("distributed.offload",
                 "= \"cpu\" moves weights from a GPU to main memory, where run.device = \"cpu\" has them "
                 "already: delete it, or use \"disk\"");
}

// In reproducible mode, examples are mixed within the parts of a batch that do not depend on the ranks.
void check_mixing(const Recipe& recipe, Report& report) {
  const DistributedOptions& distributed = recipe.distributed;
  if (!distributed.reproducible) return;
  const bool each_rank = distributed.batch == BatchOf::rank;  // at most as many ranks as shards
  const std::int64_t most = recipe.loader.batch_size * (each_rank ? distributed.shards : 1);
  if (most >= 2 * distributed.shards) return;
  for (const auto& transform : recipe.dataset.common.transform)
    if (transform.facts().mixes_examples)
      report.error("distributed.shards", "= " + std::to_string(distributed.shards) + " divides a batch of " +
                                             std::to_string(recipe.loader.batch_size) +
                                             " examples into parts of one, in which " +
                                             in_quotes(transform.name()) +
                                             " has nothing to mix: use fewer shards or larger batches");
}

void check_exchange(const Recipe& recipe, Report& report) {
  const DistributedOptions& distributed = recipe.distributed;
  if (distributed.compression == Compression::powersgd && recipe.precision.build({})->skips_updates())
    report.error("distributed.compression",
                 "= \"powersgd\" carries its error over to the next gradient, which precision " +
                     in_quotes(recipe.precision.name()) +
                     " may scale differently: use precision = \"bf16\", or another compression");
  if (distributed.sync_batch_norm && recipe.train.on_out_of_memory == OnOutOfMemory::split)
    report.error("train.on_out_of_memory",
                 "= \"split\" makes micro-batches smaller on one rank, but distributed.sync_batch_norm needs "
                 "the same ones on all: delete one of the two");
}

void check_shards(const Recipe& recipe, Report& report) {
  check_mixing(recipe, report);
  if (recipe.distributed.reproducible && recipe.train.on_out_of_memory == OnOutOfMemory::split)
    report.error("train.on_out_of_memory",
                 "= \"split\" changes how a batch is divided, which distributed.reproducible keeps fixed: "
                 "delete one of the two");
}

// Graphs record only operators on the GPU, not what the CPU does in the middle of a pass.
void check_graphs(const Recipe& recipe, Report& report) {
  if (!recipe.train.cuda_graphs) return;
  const DistributedOptions& distributed = recipe.distributed;
  const auto refuse = [&](bool together, const std::string& with) {
    if (together)
      report.error("train.cuda_graphs", "cannot be combined with " + with + ": delete one of the two");
  };
  refuse(recipe.run.device == "cpu", "run.device = \"cpu\", which has no graphs");
  refuse(recipe.precision.facts().has_host_state, "precision " + in_quotes(recipe.precision.name()));
  refuse(recipe.train.on_out_of_memory == OnOutOfMemory::split, "train.on_out_of_memory = \"split\"");
  refuse(distributed.reproducible, "distributed.reproducible");
  refuse(distributed.sync_batch_norm, "distributed.sync_batch_norm");
  refuse(distributed.strategy == RankStrategy::zero3, "distributed.strategy = \"zero3\"");
  // It saves and restores the state of the random generator, on the host.
  const Value model = recipe.model.encode();
  const Value* recomputes = model.as<Table>()->find("checkpoint_activations");
  refuse(recomputes && recomputes->as<bool>() && *recomputes->as<bool>(), "model.checkpoint_activations");
}

}  // namespace

void check(const Recipe& recipe, Report& report) {
  check_graphs(recipe, report);
  check_backend(recipe, report);
  check_exchange(recipe, report);
  check_shards(recipe, report);
  check_sharding(recipe, report);
  check_measurements(recipe, report);
  check_trackers(recipe, report);
  check_kept_weights(recipe, report);
  if (recipe.train.max_steps != 0) check_warmup(recipe, report);  // 0: evaluate only, no schedule begins
}

}  // namespace runner
