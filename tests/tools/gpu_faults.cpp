// What a program can do wrong with a GPU, each done once: tests/simulated_gpu/simulated_gpu_test.py looks
// whether the simulated GPU notices. Without an argument the same steps as they should be.
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/types.h>

#include <iostream>
#include <string>

#include "runner/engine/runtime/device_copies.hpp"

namespace {

const torch::Device gpu(torch::kCUDA, 0);

// Copies a batch on one stream and computes with it on another.
void copy_and_compute(const std::string& without) {
  const c10::impl::VirtualGuardImpl guard(torch::kCUDA);
  const c10::Stream copying = guard.getStreamFromGlobalPool(gpu), computing = guard.getStream(gpu);
  torch::Tensor host = torch::ones({4096}).pin_memory();
  for (int batch = 0; batch < 3; ++batch) {
    torch::Tensor there;
    c10::Event arrived(torch::kCUDA);
    {
      const c10::StreamGuard on(copying);
      there = host.to(gpu, /*non_blocking=*/true);
      arrived.record(copying);
    }
    if (without != "wait") arrived.block(computing);
    if (without != "record_stream") there.record_stream(computing);
    there.mul_(2);
    if (without != "host wait") arrived.synchronize();
    host.fill_(batch);
  }
}

void snapshot(const std::string& without) {
  runner::HostCopies copies;
  const torch::Tensor weights = torch::ones({4096}, gpu);
  const torch::Tensor copy = copies(weights);
  weights.zero_();
  if (without != "arrival") copies.wait();
  if (copy.sum().item<float>() != 4096) throw std::runtime_error("the copy changed with the weights");
}

void products(const std::string& without) {
  const torch::Tensor weights = torch::ones({8, 8}, without == "device" ? torch::Device("cuda:1") : gpu);
  torch::Tensor input = torch::ones({8, 8});
  if (without != "to") input = input.to(gpu);
  torch::mm(input, weights);
  if (without == "host copy") std::cout << *weights.const_data_ptr<float>();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string without = argc > 1 ? argv[1] : "";
  try {
    copy_and_compute(without);
    snapshot(without);
    products(without);
  } catch (const c10::Error& error) {
    std::cerr << error.what_without_backtrace() << '\n';
    return 1;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  std::cout << "nothing was noticed\n";
  return 0;
}
