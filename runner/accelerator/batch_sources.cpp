#include "runner/accelerator/batch_sources.hpp"

#include <ATen/Context.h>
#include <torch/utils.h>

#include <mutex>

#include "components/contract/example_random.hpp"
#include "runner/engine/runtime/generators.hpp"

namespace runner {

SeededOrder::SeededOrder(std::uint64_t seed, std::int64_t epoch) : before_(Generators(torch::kCPU).save()) {
  at::Generator generator = at::globalContext().defaultGenerator(torch::kCPU);
  const std::lock_guard lock(generator.mutex());
  generator.set_current_seed(example_seed(seed, static_cast<std::uint64_t>(epoch), 0));
}

SeededOrder::~SeededOrder() { Generators(torch::kCPU).load(before_); }

}  // namespace runner
