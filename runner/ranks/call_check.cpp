#include "runner/ranks/call_check.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "registry/base/log.hpp"
#include "registry/base/wording.hpp"
#include "runner/engine/world.hpp"

namespace runner {

CallCheck::CallCheck(c10::intrusive_ptr<c10d::Store> store, Presence& presence, std::vector<int> ranks,
                     int own, std::chrono::milliseconds timeout)
    : store_(std::move(store)),
      presence_(&presence),
      ranks_(std::move(ranks)),
      own_(own),
      timeout_(timeout),
      prefix_("call") {
  for (const int rank : ranks_) prefix_ += "-" + std::to_string(rank);
}

std::string CallCheck::key(std::int64_t number, int rank) const {
  return log::format("{}/{}/{}", prefix_, number, rank);
}

// Waits briefly and repeatedly, to notice a rank that has failed.
void CallCheck::wait_for(std::int64_t number, int rank) {
  const auto until = std::chrono::steady_clock::now() + timeout_;
  for (const auto pause = std::min(timeout_, std::chrono::milliseconds(300));;) {
    try {
      return store_->wait({key(number, rank)}, pause);
    } catch (const c10::DistStoreError&) {
      if (std::chrono::steady_clock::now() >= until || presence_->trouble_with(rank)) throw;
    }
  }
}

void CallCheck::compare(const std::string& call) {
  const std::int64_t number = calls_++;
  store_->set(key(number, own_), call);
  if (number > 1) store_->deleteKey(key(number - 2, own_));  // all have read it: they are at the next call

  std::map<std::string, std::vector<int>> callers;
  for (const int rank : ranks_) {
    wait_for(number, rank);
    callers[store_->get_to_str(key(number, rank))].push_back(rank);
  }
  if (callers.size() == 1) return;
  // Ranks that differ from most others are named first.
  std::vector<std::pair<std::string, std::vector<int>>> calls(callers.begin(), callers.end());
  std::ranges::stable_sort(calls, {}, [](const auto& entry) { return entry.second.size(); });
  std::vector<std::string> differing;
  for (const auto& [theirs, ranks] : calls) {
    std::vector<std::string> names;
    for (const int rank : ranks) names.push_back("rank " + std::to_string(rank));
    differing.push_back(joined(names) + ": " + theirs);
  }
  throw RankError(log::format("The ranks make different collective calls (call {}): {}.", number,
                              joined(differing, "; ")));
}

}  // namespace runner
