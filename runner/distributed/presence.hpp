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

// Shows the other ranks that this one is alive and where it is, and finds those that are not. A rank writes
// to rank_key(rank); gone_key(rank) appears when its process has ended, if the store notices.
class Presence {
 public:
  Presence(const c10::intrusive_ptr<c10d::Store>& store, const Place& place,
           std::chrono::milliseconds timeout);
  ~Presence();

  void starts(std::string what);  // the next collective, or other work that ranks wait for
  void reached(std::int64_t step);
  void failed(const std::string& message, bool because_of_another);

  // Returns when every rank is there. Throws RankError that names those who are not, after the timeout.
  void wait_for_all();

  // After something went wrong between the ranks: which of them it was, in words. Takes a few beats.
  std::string who_failed();
  // Whether the process of another rank has ended in the middle of its work. False if the store does not
  // know.
  bool somebody_died();
  // Whether the rank has failed or ended, or has not been seen for the timeout; in words, or nothing.
  std::optional<std::string> trouble_with(int rank);

 private:
  // How much a rank's state explains, from the least to the most.
  enum class Verdict { fine, stopped, late, left, silent, died, failed };

  void beat(const std::stop_token& stop);
  void publish();
  std::string who_is_there();
  std::string who_failed_as_the_store_says();
  std::pair<Verdict, std::string> judge(int rank, const std::optional<Sighting>& before);
  std::pair<Verdict, std::string> judge(int rank, const Sighting& now, const std::optional<Sighting>& before);
  std::optional<Sighting> seen(int rank);
  bool gone(int rank);
  std::string describe(int rank, const std::optional<Sighting>& sighting) const;

  const c10::intrusive_ptr<c10d::Store> store_;      // of the threads that train
  const c10::intrusive_ptr<c10d::Store> own_store_;  // of the thread that beats
  const Place place_;
  const std::chrono::milliseconds timeout_, interval_;
  std::mutex publishing_, mutex_;         // in this order
  std::atomic<bool> store_lost_ = false;  // it did not answer the thread that beats
  std::optional<Sighting> rank_0_;        // as it was when all were there: known even when the store is not
  std::condition_variable_any woken_;
  bool at_once_ = false;  // the next beat is due now
  Sighting own_;
  std::vector<std::pair<std::int64_t, std::chrono::steady_clock::time_point>> last_new_;  // beat of each rank
  std::jthread thread_;  // last: it uses everything above
};

}  // namespace runner
