#pragma once

#include <cstdint>
#include <string>

namespace runner {

// What a rank says of itself in the store.
struct Sighting {
  enum class State { running, left, failed, misled };  // misled: stopped because of another rank

  std::int64_t beat = 0;        // counts up while the process runs
  std::int64_t collective = 0;  // how many it has begun
  std::int64_t step = 0;
  std::string doing = {};  // "all_reduce of the gradients"
  std::string host = {};
  std::int64_t process = 0;
  State state = State::running;
  std::string message = {};  // why it failed
};

std::string to_text(const Sighting& sighting);
Sighting parse_sighting(const std::string& text);

// Where a rank writes it in the store; and what appears there when its process has ended, where the store can
// tell.
std::string rank_key(int rank);
std::string gone_key(int rank);
constexpr auto folder_key = "run folder";  // set by rank 0

// Stands before all keys: ranks that are started again must not see what an earlier attempt left.
std::string attempt_name(int restart);

}  // namespace runner
