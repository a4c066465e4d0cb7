#include "runner/data/compute_threads.hpp"

#include <ATen/Parallel.h>
#include <ATen/TensorIterator.h>
#include <ATen/ops/arange.h>

namespace runner {

void on_compute_threads(std::int64_t count, std::int64_t at_least,
                        const std::function<void(std::int64_t begin, std::int64_t end)>& work) {
  if (count < 2 * at_least || at::get_num_threads() == 1) return work(0, count);
  // at::parallel_for shares out nothing where the compiler knows no OpenMP, and another OpenMP than
  // LibTorch's would bring threads of its own. LibTorch's iterator is compiled already.
  at::Tensor numbers = at::arange(count, at::kLong);
  at::TensorIterator iterator = at::TensorIterator::nullary_op(numbers);
  iterator.for_each(
      [&](char** data, const std::int64_t*, std::int64_t length) {
        const std::int64_t begin = *reinterpret_cast<const std::int64_t*>(data[0]);
        work(begin, begin + length);
      },
      at_least);
}

}  // namespace runner
