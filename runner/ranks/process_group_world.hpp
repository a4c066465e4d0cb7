#pragma once

#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runner/engine/world.hpp"
#include "runner/ranks/call_check.hpp"
#include "runner/ranks/collectives.hpp"
#include "runner/ranks/presence.hpp"
#include "runner/ranks/store_server.hpp"

namespace runner {

struct GroupOptions {
  std::chrono::milliseconds timeout{600000};
  std::string own_address = "127.0.0.1";  // where the others reach this rank
  bool check_collectives = false;         // compare every call across ranks: slow, for finding mistakes
  std::optional<int> gpu = {};            // of this rank: NCCL is used in addition to Gloo
};

// A world of several processes, on c10d's process groups: Gloo for tensors in main memory, NCCL for those on
// GPUs. Every rank creates one, with the same store; `server` is set on a rank that serves the store itself.
class ProcessGroupWorld final : public CollectiveWorld {
 public:
  ProcessGroupWorld(const c10::intrusive_ptr<c10d::Store>& store, const Place& place,
                    const GroupOptions& options, std::unique_ptr<StoreServer> server = {});
  ~ProcessGroupWorld() override;

  void send(const torch::Tensor& tensor, int to, std::string_view what) override;
  void receive(const torch::Tensor& tensor, int from, std::string_view what) override;
  void exchange(const torch::Tensor& out, const torch::Tensor& in, int peer, std::string_view what) override;
  void barrier(std::string_view what) override;
  std::unique_ptr<World> group(const std::vector<int>& ranks) override;
  void once(Once scope, std::string_view what, const std::function<void()>& work) override;
  void wait_for_all(std::string_view what) override;
  void reached(std::int64_t step) override { presence_.reached(step); }
  std::optional<std::string> trouble_with(int rank) override { return presence_.trouble_with(rank); }
  void failed(const std::exception& error) override;
  void tell_folder(const std::string& folder) override;

 private:
  class Running;
  class Group;

  c10d::Backend& backend(const torch::Tensor& tensor) const;
  void require_own_gpu() const;
  Work begin(std::string_view operation, std::string_view what, const torch::Tensor& tensor,
             const Start& start) override;
  const std::string& machine() const { return place_.machine; }
  // Returns when each of these ranks has set its key.
  void wait_for_keys(std::map<int, std::string> expected, std::string_view what);
  std::optional<CallCheck> call_check(std::vector<int> ranks);  // if the options ask for it
  void compare_with(int peer, const std::string& call);
  RankError explained(const std::string& call, const std::exception& error);

  const std::unique_ptr<StoreServer> server_;  // first, so that it is destroyed last
  const c10::intrusive_ptr<c10d::Store> store_;
  const GroupOptions options_;
  Presence presence_;
  std::optional<CallCheck> calls_;                      // of all ranks
  std::map<int, std::optional<CallCheck>> calls_with_;  // with one other rank
  c10::intrusive_ptr<c10d::Backend> cpu_, cuda_;
  bool broken_ = false;       // a collective has failed: no other will succeed
  int first_on_machine_ = 0;  // the rank that does what happens once per machine
  std::int64_t once_calls_ = 0, waits_ = 0;
};

}  // namespace runner
