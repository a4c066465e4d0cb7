#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "components/contract/measured.hpp"
#include "registry/byte_size.hpp"
#include "registry/duration.hpp"
#include "registry/field.hpp"

namespace runner {

struct BestRule {
  std::string metric;
  std::optional<Better> mode = {};
};
constexpr auto describe(std::type_identity<BestRule>) {
  return fields(field("metric", &BestRule::metric, "The measurement that decides, such as \"eval/accuracy\".",
                      required(), non_empty()),
                field("mode", &BestRule::mode,
                      "Which direction is better; needed only for measurements of which it is not known."));
}

enum class Resume { automatic, never };
constexpr auto describe(std::type_identity<Resume>) {
  return choices(choice("auto", Resume::automatic,
                        "the same command starts the run or continues it, where run.dir names its folder"),
                 choice("never", Resume::never, "a folder that holds a run is refused"));
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
      field("best", &CheckpointSection::best, "Keep the best model as best.safetensors too.", harmless()),
      field("every", &CheckpointSection::every,
            "How often a checkpoint is written: \"500step\", \"1ep\", \"30min\", \"never\", or \"auto\": as "
            "often "
            "as costs at most 3 % of the time.",
            harmless()),
      field("keep", &CheckpointSection::keep, "How many of the newest checkpoints are kept.",
            within(1, 1'000'000), harmless()),
      field("keep_every", &CheckpointSection::keep_every,
            "Checkpoints at multiples of this are kept for good.", above(0), harmless()),
      field("async", &CheckpointSection::async,
            "Write in the background: training waits only for a copy in memory.", harmless()),
      field("at_end", &CheckpointSection::at_end, "Write one at the end of the run, to continue from later.",
            harmless()),
      field("on_exception", &CheckpointSection::on_exception,
            "Write one where the run fails between two updates.", harmless()),
      field("max_shard_size", &CheckpointSection::max_shard_size,
            "A larger model.safetensors is split into several files with an index.", harmless()),
      field("resume", &CheckpointSection::resume, "What to do about a run that is in run.dir already.",
            harmless()));
}
void check(const CheckpointSection& checkpoint, class Report& report);

}  // namespace runner
