#include "components/hooks/matmul_peak.hpp"

#include <ATen/DeviceAccelerator.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <chrono>

namespace runner {

namespace {

// Seconds of a product of matrices of this size.
double fastest_product(torch::Device device, torch::ScalarType type, std::int64_t size) {
  using Clock = std::chrono::steady_clock;
  const auto options = torch::TensorOptions().device(device).dtype(type);
  // Zeros are faster on some hardware, and random numbers would advance the generator of the run.
  const torch::Tensor a =
      torch::linspace(-1, 1, size * size, options.dtype(torch::kFloat)).to(type).view({size, size});
  const torch::Tensor b = a.t().contiguous();
  torch::Tensor product = torch::empty({size, size}, options);
  const auto seconds_of_one = [&] {
    if (!device.is_cpu()) at::accelerator::synchronizeDevice(device.index());
    const auto start = Clock::now();
    torch::mm_out(product, a, b);
    if (!device.is_cpu()) at::accelerator::synchronizeDevice(device.index());
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  seconds_of_one();  // the first one starts threads and warms up caches and kernels
  double fastest = seconds_of_one();
  const auto end = Clock::now() + std::chrono::milliseconds(400);
  while (Clock::now() < end) fastest = std::min(fastest, seconds_of_one());
  return fastest;
}

}  // namespace

// Larger matrices, the faster the device is: shorter products would measure how soon it begins with one.
double measure_matmul_peak(torch::Device device, torch::ScalarType type) {
  const torch::InferenceMode no_gradients;
  constexpr std::int64_t smallest = 1024, largest = 8192;
  constexpr double long_enough = 0.005;
  std::int64_t size = smallest;
  double seconds = fastest_product(device, type, size);
  while (seconds < long_enough && size < largest) seconds = fastest_product(device, type, size *= 2);
  const auto operations =
      2.0 * static_cast<double>(size) * static_cast<double>(size) * static_cast<double>(size);
  return operations / seconds;
}

}  // namespace runner
