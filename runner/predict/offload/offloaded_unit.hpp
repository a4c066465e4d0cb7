#pragma once

#include <torch/types.h>

#include <string>
#include <vector>

#include "components/models/weights/load_weights.hpp"

namespace runner {

// Parameters that are loaded and released together. The model keeps its tensors; only their memory is freed.
class OffloadedUnit {
 public:
  // Gives the parameters the device and layout that they will have, but no memory before bring().
  // 4-dimensional ones get the memory format `layout`.
  OffloadedUnit(std::vector<WeightMatch::Pair> parameters, const WeightFiles& files, torch::Device device,
                torch::MemoryFormat layout);

  const std::vector<WeightMatch::Pair>& parameters() const { return parameters_; }

  // bring() copies from the files to the device. Results are bit-identical to those of a model loaded as a
  // whole: numbers are converted the same way, and are aligned as by LibTorch, unlike those in a mapped file.
  bool present() const { return present_; }
  void bring();
  void release();
  void will_need() const;  // starts reading the file ahead

  // Permanently: to another device; or into main memory, from which bring() then copies.
  void move_to(torch::Device device);
  void keep_in_main_memory();

 private:
  std::vector<WeightMatch::Pair> parameters_;
  const WeightFiles& files_;
  bool present_ = false;
};

}  // namespace runner
