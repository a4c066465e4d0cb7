#include "components/datasets/stratified_split.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "components/contract/example_random.hpp"

namespace runner {

IndexSplit stratified_split(std::span<const std::int64_t> labels, double eval_share, std::uint64_t seed) {
  std::map<std::int64_t, std::vector<std::int64_t>> by_class;
  for (std::size_t i = 0; i < labels.size(); ++i) by_class[labels[i]].push_back(static_cast<std::int64_t>(i));
  IndexSplit split;
  for (auto& [label, order] : by_class) {
    ExampleRandom random(example_seed(seed, 0, static_cast<std::uint64_t>(label)));
    for (std::size_t i = order.size(); i > 1; --i) {
      std::swap(order[i - 1], order[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(i)))]);
    }
    const auto count = static_cast<double>(order.size());
    const auto for_eval =
        static_cast<std::ptrdiff_t>(std::clamp(std::round(count * eval_share), 1.0, count - 1));
    std::sort(order.begin(), order.begin() + for_eval);
    std::sort(order.begin() + for_eval, order.end());
    split.eval.insert(split.eval.end(), order.begin(), order.begin() + for_eval);
    split.train.insert(split.train.end(), order.begin() + for_eval, order.end());
  }
  return split;
}

}  // namespace runner
