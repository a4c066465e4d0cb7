#include "runner/data/compute_threads.hpp"

#include <ATen/Parallel.h>
#include <ATen/TensorIterator.h>
#include <ATen/ops/empty.h>

namespace runner {

void on_compute_threads(std::int64_t count, std::int64_t at_least,
                        const std::function<void(std::int64_t begin, std::int64_t end)>& work) {
  if (count < 2 * at_least || at::get_num_threads() == 1) return work(0, count);
  // at::parallel_for runs on one thread if this file is compiled without OpenMP, and another OpenMP than
  // LibTorch's would have its own threads. TensorIterator is compiled into LibTorch.
  at::Tensor places = at::empty({count}, at::kByte);  // one for each number; the contents do not matter
  const char* first = static_cast<const char*>(places.const_data_ptr());
  at::TensorIterator iterator = at::TensorIterator::nullary_op(places);
  iterator.for_each(
      [&](char** data, const std::int64_t*, std::int64_t length) {
        const std::int64_t begin = data[0] - first;
        work(begin, begin + length);
      },
      at_least);
}

}  // namespace runner
