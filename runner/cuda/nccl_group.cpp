// NCCL's process group. Compiled and linked (scripts/check_cuda.sh), but not run.
#include <c10/cuda/CUDAFunctions.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include "runner/distributed/nccl.hpp"

using runner::NcclWish;

// The caller owns what it returns. C linkage, so that dlsym finds it by its name.
extern "C" __attribute__((visibility("default"))) c10d::Backend* runner_make_nccl_group(
    const NcclWish& wish) {
  c10::cuda::set_device(static_cast<c10::DeviceIndex>(wish.device));
  auto options = c10d::ProcessGroupNCCL::Options::create();
  options->timeout = wish.timeout;
  auto group = c10::make_intrusive<c10d::ProcessGroupNCCL>(
      c10::make_intrusive<c10d::PrefixStore>("nccl", wish.store), wish.rank, wish.size, options);
  // At once, and not at the first exchange: what is wrong with the GPUs shows before training.
  group->eagerConnectSingleDevice(c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(wish.device)));
  return group.release();
}

static_assert(std::is_same_v<decltype(&runner_make_nccl_group), runner::MakeNcclGroup>);
