#include "runner/sweep/halving.hpp"

#include <algorithm>

namespace runner {

namespace {

constexpr std::int64_t factor = 3;

bool is_power(std::int64_t number) {
  while (number > 1 && number % factor == 0) number /= factor;
  return number == 1;
}

}  // namespace

bool Halving::may_continue(std::int64_t trial, std::int64_t evaluations, double best) {
  if (!is_power(evaluations)) return true;
  std::map<std::int64_t, double>& reached = values_[evaluations];
  if (!reached.insert_or_assign(trial, best).second) return true;
  const auto better = std::ranges::count_if(reached, [&](const auto& other) { return other.second < best; });
  return better < std::max<std::ptrdiff_t>(1, std::ssize(reached) / factor);
}

}  // namespace runner
