#pragma once

#include <torch/types.h>

#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "components/support/operator_mode.hpp"
#include "runner/inference/offload/offloaded_unit.hpp"

namespace runner {

// The parameters of a model that stay in their file. Units of them come into memory when an operator is about
// to read them, and leave it when others do; while one is computed with, the disk reads the next. The model
// knows nothing of it.
class OffloadedWeights final : public OperatorMode {
 public:
  struct Placed {
    std::vector<WeightMatch::Pair> parameters;  // of one unit
    std::string place;                          // "disk", "cpu", "cuda:1" ..
  };

  // `device`: where passes run, and where the parameters are while they are needed, unless their own place is
  // another GPU. Until load() none of them has memory.
  OffloadedWeights(WeightFiles files, std::vector<Placed> units, torch::Device device,
                   torch::MemoryFormat layout);

  // Once the model is prepared: what has a place in memory is read.
  void load();

  // Around the passes of the model: every operator of this thread comes here first. Arguments on another
  // device than the weights are moved to them.
  void run(const c10::OperatorHandle& op, torch::jit::Stack& stack) override;

  std::int64_t peak_bytes() const { return peak_bytes_; }  // of parameters that came and went

 private:
  struct Unit {
    OffloadedUnit parameters;
    std::string place;
    std::int64_t bytes;
    bool stays = false;  // in memory, for good
  };

  void need(std::span<const std::size_t> units);
  void make_room(std::span<const std::size_t> needed);
  void announce_next(std::size_t unit);

  WeightFiles files_;
  torch::Device device_;
  std::vector<Unit> units_;
  std::unordered_map<const c10::StorageImpl*, std::size_t> unit_of_;
  std::vector<std::size_t> present_;  // the one that was needed last is the last
  std::optional<std::size_t> current_;
  std::map<std::size_t, std::size_t> next_;  // what was needed after what
  std::int64_t present_bytes_ = 0, peak_bytes_ = 0;
};

// A pass of the model may be run as long as this lives; without offloaded weights it does nothing.
class OffloadedPass {
 public:
  explicit OffloadedPass(OffloadedWeights* weights) {
    if (weights) scope_.emplace(*weights);
  }

 private:
  std::optional<OperatorModeScope> scope_;
};

}  // namespace runner
