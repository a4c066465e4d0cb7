#pragma once

#include <cstdint>
#include <string>

namespace runner {

// What a rank reports about itself in the store.
struct Sighting {
  enum class Phase { running, left, failed, stopped_by_another };

  std::int64_t beat = 0;         // counts up while the process runs
  std::int64_t collective = 0;   // number of collectives it has started
  std::int64_t step = -1;        // the step it has reached; -1: it does not train yet
  std::int64_t first_step = -1;  // the step it started at: 0, or that of a checkpoint
  std::string exchange = {};     // the one it started last: "all_reduce of the gradients"
  std::string host = {};
  std::int64_t process = 0;
  Phase phase = Phase::running;
  std::string message = {};  // why it failed
};

// "at step 3 (last exchange: all_reduce of the gradients)", "before the first step"
std::string where(const Sighting& sighting);
// What is known of a rank whose last report may be some time old: ranks update together, so it has been as
// far as another rank that has reached `step`.
Sighting at_least_at(std::int64_t step, Sighting sighting);
std::string to_text(const Sighting& sighting);
Sighting parse_sighting(const std::string& text);

// The key under which a rank writes it in the store, and the key that appears when its process has ended, if
// the store notices.
std::string rank_key(int rank);
std::string gone_key(int rank);
constexpr auto folder_key = "run folder";  // set by rank 0

// The prefix of all keys of an attempt: restarted ranks must not see keys of an earlier attempt.
std::string attempt_name(int restart);

}  // namespace runner
