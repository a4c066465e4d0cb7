#pragma once

#include <torch/csrc/distributed/c10d/Store.hpp>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "runner/distributed/sighting.hpp"
#include "runner/engine/world.hpp"

namespace runner {

// Shows the others that this rank lives and where it is, and finds out which of them does not. The key a rank
// writes under is rank_key(rank); gone_key(rank) appears when its process has ended, where the store can
// tell.
class Presence {
 public:
  Presence(const c10::intrusive_ptr<c10d::Store>& store, const Place& place,
           std::chrono::milliseconds timeout);
  ~Presence();

  void begins(std::string what);  // the next collective
  void reached(std::int64_t step);
  void failed(const std::string& message, bool because_of_another);

  // Returns when every rank is there. Throws RankError that names those who are not, after the timeout.
  void wait_for_all();

  // After something went wrong between the ranks: which of them it was, in words. Takes a few beats.
  std::string who_failed();
  // Whether the rank has ended, or has not shown itself for the timeout; in words, or nothing.
  std::optional<std::string> trouble_with(int rank);

 private:
  void beat(const std::stop_token& stop);
  void publish();
  std::optional<Sighting> seen(int rank);
  bool gone(int rank);
  std::string describe(int rank, const std::optional<Sighting>& sighting) const;

  const c10::intrusive_ptr<c10d::Store> store_;      // of the threads that train
  const c10::intrusive_ptr<c10d::Store> own_store_;  // of the thread that beats
  const Place place_;
  const std::chrono::milliseconds timeout_, interval_;
  mutable std::mutex mutex_;
  std::condition_variable_any woken_;
  Sighting own_;
  std::vector<std::pair<std::int64_t, std::chrono::steady_clock::time_point>> last_new_;  // beat of each rank
  std::jthread thread_;  // last: it uses everything above
};

}  // namespace runner
