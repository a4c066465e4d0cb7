#pragma once

#include <torch/csrc/distributed/c10d/Store.hpp>

#include <string>

#include "components/support/torch_error.hpp"
#include "runner/distributed/presence.hpp"
#include "runner/engine/world.hpp"

namespace runner {

// The only rank of a launcher: it has nobody to exchange anything with, but the launcher wants to know where
// the run's folder is, how far training is, and why it failed.
class SingleRankWorld final : public World {
 public:
  SingleRankWorld(const c10::intrusive_ptr<c10d::Store>& store, const Place& place,
                  std::chrono::milliseconds timeout)
      : World(place), store_(store), presence_(store, place, timeout) {}

  void reached(std::int64_t step) override { presence_.reached(step); }
  void failed(const std::exception& error) override { presence_.failed(reason_of(error), false); }
  void tell_folder(const std::string& folder) override { store_->set(folder_key, folder); }

 private:
  const c10::intrusive_ptr<c10d::Store> store_;
  Presence presence_;
};

}  // namespace runner
