#pragma once

#include <torch/types.h>

#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "components/torch/operator_mode.hpp"
#include "runner/predict/offload/offloaded_unit.hpp"

namespace runner {

// The parameters of a model that stay in their file. A unit of them is loaded when an operator is about to
// read it, and released when others are needed; during its computation the next unit is read from disk. The
// model need not know.
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

  // Call it once the model is prepared. Loads the units whose place is in memory.
  void load();

  // Called for every operator of this thread during a pass. Arguments on another device than the weights are
  // moved to the device of the weights.
  void run(const c10::OperatorHandle& op, torch::jit::Stack& stack) override;

  std::int64_t peak_bytes() const { return peak_bytes_; }  // of the parameters that are loaded and released

 private:
  struct Unit {
    OffloadedUnit parameters;
    std::string place;
    std::int64_t bytes;
    bool stays = false;  // permanently in memory
  };

  void need(std::span<const std::size_t> units);
  void make_room(std::span<const std::size_t> needed);
  void announce_next(std::size_t unit);

  WeightFiles files_;
  torch::Device device_;
  std::vector<Unit> units_;
  std::unordered_map<const c10::StorageImpl*, std::size_t> unit_of_;
  std::vector<std::size_t> present_;  // in order of last use
  std::optional<std::size_t> current_;
  std::map<std::size_t, std::size_t> next_;  // which unit was needed after which
  std::int64_t present_bytes_ = 0, peak_bytes_ = 0;
};

// The model may be run while this exists. Does nothing if `weights` is null.
class OffloadedPass {
 public:
  explicit OffloadedPass(OffloadedWeights* weights) {
    if (weights) scope_.emplace(*weights);
  }

 private:
  std::optional<OperatorModeScope> scope_;
};

}  // namespace runner
