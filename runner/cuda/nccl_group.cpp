// The process group of NCCL. Compiled and linked by scripts/check_cuda.sh, but never run on a GPU.
#include <c10/cuda/CUDAFunctions.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include "runner/ranks/nccl.hpp"

using runner::NcclWish;

// The caller owns the result. C linkage, so that dlsym finds it by name.
extern "C" __attribute__((visibility("default"))) c10d::Backend* runner_make_nccl_group(
    const NcclWish& wish) {
  c10::cuda::set_device(static_cast<c10::DeviceIndex>(wish.device));
  auto options = c10d::ProcessGroupNCCL::Options::create();
  options->timeout = wish.timeout;
  auto group = c10::make_intrusive<c10d::ProcessGroupNCCL>(
      c10::make_intrusive<c10d::PrefixStore>("nccl", wish.store), wish.rank, wish.size, options);
  // Connect now rather than at the first exchange, so that problems with GPUs show before training.
  group->eagerConnectSingleDevice(c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(wish.device)));
  return group.release();
}

static_assert(std::is_same_v<decltype(&runner_make_nccl_group), runner::MakeNcclGroup>);
