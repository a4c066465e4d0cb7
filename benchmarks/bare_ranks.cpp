// The limit for several ranks: the loop written by hand, with LibTorch's own Reducer, which Python's
// DistributedDataParallel uses, on Gloo over loopback. Each process is one rank of one thread.
//   benchmark_bare_ranks MODEL BATCH STEPS DATA RANK SIZE FILE      rank 0 prints JSON; the ranks meet at
//   FILE
#include <ATen/Parallel.h>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/logger.hpp>
#include <torch/csrc/distributed/c10d/reducer.hpp>

#include "benchmarks/bare_work.hpp"
#include "runner/engine/runtime/process.hpp"

namespace runner {
namespace {

c10::intrusive_ptr<c10d::ProcessGroup> gloo_group(int rank, int size, const std::string& file) {
  const auto store = c10::make_intrusive<c10d::FileStore>(file, size);
  auto options = c10d::ProcessGroupGloo::Options::create();
  options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1"));
  const auto gloo = c10::make_intrusive<c10d::ProcessGroupGloo>(store, rank, size, options);
  auto group = c10::make_intrusive<c10d::ProcessGroup>(store, rank, size);
  group->setBackend(c10::DeviceType::CPU, c10d::ProcessGroup::BackendType::GLOO, gloo);
  group->setDefaultBackend(c10d::ProcessGroup::BackendType::GLOO);
  return group;
}

// As DistributedDataParallel makes it, with its default sizes.
std::shared_ptr<c10d::Reducer> reducer_for(const std::vector<torch::Tensor>& parameters,
                                           const c10::intrusive_ptr<c10d::ProcessGroup>& group) {
  constexpr std::size_t first_bucket = std::size_t{1} << 20, bucket = std::size_t{25} << 20;
  const std::vector<bool> sparse(parameters.size(), false);
  auto [buckets, sizes] = c10d::compute_bucket_assignment_by_size(parameters, {first_bucket, bucket}, sparse);
  std::ranges::reverse(buckets);
  auto reducer = std::make_shared<c10d::Reducer>(
      parameters, buckets, group, sparse, bucket, /*find_unused_parameters=*/false,
      /*gradient_as_bucket_view=*/true, std::unordered_map<std::size_t, std::string>{}, first_bucket,
      /*skip_all_reduce_unused_params=*/false, /*use_python_reducer=*/false, std::vector<std::int64_t>{});
  reducer->set_logger(std::make_shared<c10d::Logger>(reducer));
  return reducer;
}

void train(char** arguments) {
  const int rank = std::atoi(arguments[5]);
  const auto group = gloo_group(rank, std::atoi(arguments[6]), arguments[7]);
  BareTraining training(arguments[1], arguments[4]);  // the seed is the same: so are the weights
  const auto reducer = reducer_for(training.parameters, group);
  torch::manual_seed(static_cast<std::uint64_t>(rank));
  time_steps(std::atoll(arguments[3]), rank == 0, [&] {
    reducer->rebuild_buckets();
    reducer->prepare_for_forward();
    const torch::Tensor loss = training.loss_of_some(std::atoll(arguments[2]));
    reducer->prepare_for_backward({loss});
    loss.backward();
    training.optimizer->step(1.0);
    for (auto& parameter : training.parameters) parameter.mutable_grad().zero_();
  });
}

}  // namespace
}  // namespace runner

int main(int argc, char** argv) {
  if (argc != 8) {
    std::cerr << "usage: benchmark_bare_ranks MODEL BATCH STEPS DATA RANK SIZE FILE\n";
    return 2;
  }
  runner::keep_freed_memory();
  at::set_num_threads(1);
  runner::train(argv);
}
