#include <torch/types.h>

#include "registry/base/log.hpp"
#include "runner/check/checks.hpp"
#include "runner/engine/runtime/device.hpp"
#include "runner/ranks/nccl.hpp"
#include "runner/terminal/text.hpp"

namespace runner {

namespace {

Finding check_gpu(const torch::Device& device) {
  Finding finding{device.is_cuda() ? log::format("GPU {}", int{device.index()}) : device.str()};
  try {
    const torch::Tensor ones = torch::ones({64, 64}, device);
    if (torch::mm(ones, ones).sum().item<double>() != 64.0 * 64 * 64)
      throw std::runtime_error("a matrix product is wrong");
    finding.detail = "multiplies matrices";
  } catch (const std::exception& error) {
    finding.verdict = Finding::Verdict::problem;
    finding.detail = error.what();
    finding.remedy = "look at it with `nvidia-smi`; `runner launch --gpus` can use only the others";
  }
  return finding;
}

}  // namespace

std::vector<Finding> check_devices() {
  const std::vector<std::string> installed = installed_gpus();
  const torch::Device first = resolve_device("auto");
  const int usable = first.is_cpu() ? 0 : usable_devices(first.type());
  if (usable == 0 && installed.empty())
    return {{"GPUs", Finding::Verdict::ok, "none here; ranks compute on CPUs and exchange over Gloo"}};
  if (usable == 0 && !has_cuda_build())
    return {{"GPUs", Finding::Verdict::note,
             joined(installed) + ": not used, because this LibTorch is a build for CPUs",
             "build the program with a CUDA build of LibTorch: docs/distributed.md"}};
  if (usable == 0)
    return {{"GPUs", Finding::Verdict::problem, joined(installed) + ": LibTorch cannot use them",
             "install a driver that fits the CUDA version of LibTorch (`nvidia-smi` shows both), and look at "
             "CUDA_VISIBLE_DEVICES"}};
  std::vector<Finding> findings;
  for (int index = 0; index < usable; ++index)
    findings.push_back(check_gpu({first.type(), static_cast<torch::DeviceIndex>(index)}));
  if (!first.is_cuda()) return findings;
  Finding nccl{"NCCL", Finding::Verdict::ok, nccl_version()};
  if (const std::string problem = nccl_problem(); !problem.empty())
    nccl = {"NCCL", Finding::Verdict::problem, problem, "build the program with CUDA: docs/distributed.md"};
  findings.push_back(std::move(nccl));
  return findings;
}

}  // namespace runner
