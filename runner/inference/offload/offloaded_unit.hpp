#pragma once

#include <torch/types.h>

#include <string>
#include <vector>

#include "components/models/support/load_weights.hpp"

namespace runner {

// Parameters that come into memory together. The tensors of the model stay; their memory comes and goes.
class OffloadedUnit {
 public:
  // Takes the parameters over, in the layout that they will have on the device: they have no memory until
  // bring(). 4-dimensional ones get that memory format.
  OffloadedUnit(std::vector<WeightMatch::Pair> parameters, const WeightFiles& files, torch::Device device,
                torch::MemoryFormat layout);

  const std::vector<WeightMatch::Pair>& parameters() const { return parameters_; }

  // From the files into the memory of the device. Bits are those of a model that was loaded whole: numbers
  // are converted the same way, and lie as LibTorch wants its memory, which a mapped file seldom does.
  bool present() const { return present_; }
  void bring();
  void release();
  void will_need() const;  // soon

  // For good: on another device; in main memory, from where bring() then copies.
  void move_to(torch::Device device);
  void keep_in_main_memory();

 private:
  std::vector<WeightMatch::Pair> parameters_;
  const WeightFiles& files_;
  bool present_ = false;
};

}  // namespace runner
