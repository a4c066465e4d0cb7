#pragma once

#include <torch/csrc/distributed/c10d/Store.hpp>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "runner/engine/world.hpp"
#include "runner/ranks/sighting.hpp"

namespace runner {

// Shows the other ranks that this one is alive and what it does, and finds ranks that have failed. A rank
// writes to rank_key(rank); gone_key(rank) appears when its process has ended, if the store notices.
class Presence {
 public:
  Presence(const c10::intrusive_ptr<c10d::Store>& store, const Place& place,
           std::chrono::milliseconds timeout);
  ~Presence();

  void starts(std::string what);  // the next collective, or other work that ranks wait for
  void reached(std::int64_t step);
  void failed(const std::string& message, bool because_of_another);

  // Returns when every rank has joined. After the timeout, throws RankError that names the missing ones.
  void wait_for_all();

  // After a failed exchange: which rank caused it, and why, as text. Takes a few beats.
  std::string who_failed();
  // Whether the process of another rank has died in the middle of its work. False if the store does not know.
  bool somebody_died();
  // Says that the rank has failed or ended, or was not seen for the timeout; nothing if it is fine. Any
  // thread may ask.
  std::optional<std::string> trouble_with(int rank);

 private:
  // How well a rank's state explains a failure, from the least to the most.
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

  const c10::intrusive_ptr<c10d::Store> store_;      // used by the threads that train
  const c10::intrusive_ptr<c10d::Store> own_store_;  // used by the thread that beats
  const Place place_;
  const std::chrono::milliseconds timeout_, interval_;
  std::mutex publishing_, mutex_;         // locked in this order; mutex_ also for last_new_
  std::atomic<bool> store_lost_ = false;  // it did not answer the thread that beats
  std::optional<Sighting> rank_0_;        // when all had joined: known even if the store is lost
  std::condition_variable_any woken_;
  bool at_once_ = false;  // send the next beat now
  Sighting own_;
  std::vector<std::pair<std::int64_t, std::chrono::steady_clock::time_point>> last_new_;  // beat of each rank
  std::jthread thread_;  // last: it uses everything above
};

}  // namespace runner
