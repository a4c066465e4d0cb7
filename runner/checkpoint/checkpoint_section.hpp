#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "components/contract/measured.hpp"
#include "registry/base/byte_size.hpp"
#include "registry/base/duration.hpp"
#include "registry/field.hpp"

namespace runner {

struct BestRule {
  std::string metric;
  std::optional<Better> mode = {};
  std::int64_t keep = 1;
};
constexpr auto describe(std::type_identity<BestRule>) {
  return fields(
      field("metric", &BestRule::metric, "The metric that decides, such as \"eval/accuracy\".", required(),
            non_empty(), changes_course()),
      field("mode", &BestRule::mode, "Which direction is better; needed only for a metric that does not say.",
            changes_course()),
      field("keep", &BestRule::keep, "How many of the best are kept: best/step-00000100.safetensors ..",
            within(1, 1000), harmless()));
}

enum class Resume { automatic, never };
constexpr auto describe(std::type_identity<Resume>) {
  return choices(choice("auto", Resume::automatic, "the same command starts the run or continues it"),
                 choice("never", Resume::never, "a folder with a run is an error"));
}

// What a recipe says about checkpoints.
struct CheckpointSection {
  std::optional<BestRule> best;
  std::string every = "auto";
  std::int64_t keep = 2;
  std::optional<Duration> keep_every;
  bool async = true;
  bool at_end = true;
  bool on_exception = true;
  ByteSize max_shard_size = ByteSize{std::uint64_t{5} << 30};
  Resume resume = Resume::automatic;
};
constexpr auto describe(std::type_identity<CheckpointSection>) {
  return fields(
      field("best", &CheckpointSection::best,
            "Keep the weights of the best evaluations too; best.safetensors is the best of them.",
            harmless()),
      field("every", &CheckpointSection::every,
            "How often a checkpoint is written: \"500step\", \"1ep\", \"30min\", \"never\" (not at the end "
            "either; a signal, `runner checkpoint` and `time_limit` still save), or \"auto\": as often as "
            "costs at most 3 % of the time.",
            harmless()),
      field("keep", &CheckpointSection::keep, "Number of newest checkpoints to keep.", within(1, 1'000'000),
            harmless()),
      field("keep_every", &CheckpointSection::keep_every,
            "A checkpoint is also written at each multiple of this, and never deleted.", above(0),
            harmless()),
      field("async", &CheckpointSection::async,
            "Write in the background: training waits only for a copy in memory.", harmless()),
      field("at_end", &CheckpointSection::at_end,
            "Write a checkpoint at the end of the run, to continue from later.", harmless()),
      field("on_exception", &CheckpointSection::on_exception,
            "Write a checkpoint if the run fails between two updates; not with several ranks, which may fail "
            "at different steps.",
            harmless()),
      field("max_shard_size", &CheckpointSection::max_shard_size,
            "A larger model.safetensors is split into several files with an index.", harmless()),
      field("resume", &CheckpointSection::resume, "What to do if run.dir already has a run.", harmless()));
}
void check(const CheckpointSection& checkpoint, class Report& report);

}  // namespace runner
