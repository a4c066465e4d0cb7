#pragma once

#include <torch/csrc/distributed/c10d/Store.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "runner/ranks/presence.hpp"

namespace runner {

// Compares, through the store, the collective calls that ranks are about to make: finds mistakes that would
// otherwise show as a hang or as wrong numbers. Slow.
class CallCheck {
 public:
  // `ranks`: the ranks that take part, by their numbers in the world; `own` is one of them.
  CallCheck(c10::intrusive_ptr<c10d::Store> store, Presence& presence, std::vector<int> ranks, int own,
            std::chrono::milliseconds timeout);

  // Returns when all ranks have reached the same call. Throws RankError, which names the ranks that differ.
  void compare(const std::string& call);

 private:
  std::string key(std::int64_t number, int rank) const;
  void wait_for(std::int64_t number, int rank);

  c10::intrusive_ptr<c10d::Store> store_;
  Presence* presence_;
  std::vector<int> ranks_;
  int own_;
  std::chrono::milliseconds timeout_;
  std::string prefix_;
  std::int64_t calls_ = 0;
};

}  // namespace runner
