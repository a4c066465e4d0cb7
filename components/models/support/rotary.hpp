#pragma once

#include <torch/types.h>

namespace runner {

// The angles of some positions, as cosines and sines: [positions, size / 2].
struct Rotation {
  torch::Tensor cosine, sine;
};

// Positions as rotations (Su et al. 2021, https://arxiv.org/abs/2104.09864): number i of a head's first half
// and number i of its second half are the coordinates that are turned, as HuggingFace pairs them.
class Rotary {
 public:
  Rotary(std::int64_t positions, std::int64_t head_size, double theta);

  Rotation at(std::int64_t first, std::int64_t count, torch::Device device);

 private:
  Rotation all_;
};

torch::Tensor rotated(const torch::Tensor& x, const Rotation& rotation);  // x: [.., positions, size]

}  // namespace runner
