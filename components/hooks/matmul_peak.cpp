#include "components/hooks/matmul_peak.hpp"

#include <torch/cuda.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <chrono>

namespace runner {

double measure_matmul_peak(torch::Device device, torch::ScalarType type) {
  using Clock = std::chrono::steady_clock;
  const torch::InferenceMode no_gradients;
  const std::int64_t size = device.is_cuda() ? 8192 : 1024;
  const auto options = torch::TensorOptions().device(device).dtype(type);
  // Zeros are faster on some hardware, and random numbers would advance the generator of the run.
  const torch::Tensor a =
      torch::linspace(-1, 1, size * size, options.dtype(torch::kFloat)).to(type).view({size, size});
  const torch::Tensor b = a.t().contiguous();
  torch::Tensor product = torch::empty({size, size}, options);
  const auto seconds_of_one = [&] {
    if (device.is_cuda()) torch::cuda::synchronize(device.index());
    const auto start = Clock::now();
    torch::mm_out(product, a, b);
    if (device.is_cuda()) torch::cuda::synchronize(device.index());
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  seconds_of_one();  // the first one starts threads and warms up caches and kernels
  double fastest = seconds_of_one();
  const auto end = Clock::now() + std::chrono::milliseconds(400);
  while (Clock::now() < end) fastest = std::min(fastest, seconds_of_one());
  return 2.0 * static_cast<double>(size) * static_cast<double>(size) * static_cast<double>(size) / fastest;
}

}  // namespace runner
