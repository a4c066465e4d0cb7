#include "runner/checkpoint/checkpoint_section.hpp"

#include "registry/diagnostics.hpp"

namespace runner {

void check(const CheckpointSection& checkpoint, Report& report) {
  if (checkpoint.every != "auto" && checkpoint.every != "never") {
    const auto parsed = parse_duration(checkpoint.every);
    const auto* interval = std::get_if<Duration>(&parsed);
    if (!interval || interval->amount <= 0)
      report.error("every",
                   "needs an interval such as \"500step\", \"1ep\" or \"30min\", \"auto\" or \"never\"");
  }
  if (checkpoint.every == "never" && checkpoint.keep_every)
    report.error("keep_every", "has no effect with checkpoint.every = \"never\"");
  if (checkpoint.max_shard_size.bytes == 0) report.error("max_shard_size", "must be above 0");
}

}  // namespace runner
