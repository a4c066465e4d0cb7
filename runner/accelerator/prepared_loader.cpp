#include "runner/accelerator/prepared_loader.hpp"

#include <ATen/Context.h>
#include <torch/utils.h>

#include <mutex>

#include "components/contract/example_random.hpp"
#include "runner/engine/runtime/generators.hpp"

namespace runner {

std::vector<torch::Tensor*> tensors_of(Batch& batch) {
  std::vector<torch::Tensor*> tensors{&batch.input};
  if (batch.target.defined()) tensors.push_back(&batch.target);
  for (auto& [name, tensor] : batch.extra) tensors.push_back(&tensor);
  return tensors;
}

torch::Tensor RowShare::take(const torch::Tensor& all) const {
  const std::int64_t each = rows_each(all.size(0));
  const torch::Tensor rows = torch::arange(rank * each, (rank + 1) * each).remainder(all.size(0));
  return all.index_select(0, rows.to(all.device()));
}

State LoaderPlace::save() const {
  return {.integers = {{"epoch", epoch}, {"position", position}, {"ranks", ranks}}};
}

void LoaderPlace::load(const State& state) {
  StateReader saved(state);
  epoch = saved.integer("epoch");
  const std::int64_t each = saved.integer("position"), of = saved.integer("ranks");
  saved.finish();
  std::int64_t batches = 0;
  if (__builtin_mul_overflow(each, of, &batches) || each < 0 || of < 1)
    throw StateError("\"position\" or \"ranks\" is out of range");
  if (batches % ranks != 0)
    throw StateError("it was saved in the middle of a pass, after " + std::to_string(batches) +
                     " batches, which is not a whole number for each of " + std::to_string(ranks) +
                     " ranks: use as many ranks as before (" + std::to_string(of) +
                     "), or a state that was saved between two passes");
  position = batches / ranks;
}

SeededOrder::SeededOrder(std::uint64_t seed, std::int64_t epoch) : before_(Generators(torch::kCPU).save()) {
  at::Generator generator = at::globalContext().defaultGenerator(torch::kCPU);
  const std::lock_guard lock(generator.mutex());
  generator.set_current_seed(example_seed(seed, static_cast<std::uint64_t>(epoch), 0));
}

SeededOrder::~SeededOrder() { Generators(torch::kCPU).load(before_); }

}  // namespace runner
