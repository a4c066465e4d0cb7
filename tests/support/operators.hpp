// Operators that LibTorch executes, on all threads, while some work is done: the cost of it that is exact.
#pragma once

#include <ATen/record_function.h>

#include <map>
#include <mutex>
#include <string>

namespace runner::testing {

using OperatorCounts = std::map<std::string, std::int64_t>;

inline std::int64_t total(const OperatorCounts& counts) {
  std::int64_t sum = 0;
  for (const auto& [name, count] : counts) sum += count;
  return sum;
}

template <class Work>
OperatorCounts operators_of(const Work& work) {
  static OperatorCounts counts;
  static std::mutex mutex;
  counts.clear();
  const auto handle =
      at::addGlobalCallback(at::RecordFunctionCallback([](const at::RecordFunction& function)
                                                           -> std::unique_ptr<at::ObserverContext> {
                              const std::lock_guard lock(mutex);
                              ++counts[function.name()];
                              return nullptr;
                            }).scopes({at::RecordScope::FUNCTION}));
  work();
  at::removeCallback(handle);
  return counts;
}

}  // namespace runner::testing
