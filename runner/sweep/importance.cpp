#include "runner/sweep/importance.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace runner {

namespace {

constexpr std::size_t most_groups = 6, least_in_group = 3;

// The group of each observation: by value if there are few values, otherwise by rank.
std::vector<std::size_t> groups_of(const std::vector<double>& values) {
  std::map<double, std::size_t> distinct;
  for (const double value : values) distinct.emplace(value, 0);
  std::vector<std::size_t> groups(values.size());
  if (distinct.size() <= most_groups) {
    std::size_t next = 0;
    for (auto& [value, group] : distinct) group = next++;
    for (std::size_t i = 0; i < values.size(); ++i) groups[i] = distinct[values[i]];
    return groups;
  }
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return values[i]; });
  const std::size_t count = std::clamp(values.size() / least_in_group, std::size_t{1}, most_groups);
  for (std::size_t rank = 0; rank < order.size(); ++rank) groups[order[rank]] = rank * count / order.size();
  return groups;
}

std::optional<double> explained(const std::vector<std::size_t>& groups, const std::vector<double>& results) {
  const auto count = static_cast<double>(results.size());
  const double mean = std::accumulate(results.begin(), results.end(), 0.0) / count;
  std::map<std::size_t, std::pair<double, double>> sums;  // count and sum, by group
  double whole = 0;
  for (std::size_t i = 0; i < results.size(); ++i) {
    sums[groups[i]].first += 1;
    sums[groups[i]].second += results[i];
    whole += (results[i] - mean) * (results[i] - mean);
  }
  double between = 0;
  for (const auto& [group, sum] : sums) between += sum.first * std::pow(sum.second / sum.first - mean, 2);
  const double freedom = static_cast<double>(sums.size()) - 1, rest = count - freedom - 1;
  if (rest <= 0 || freedom <= 0) return std::nullopt;
  if (whole <= 0) return 0;
  return std::clamp((between - freedom * (whole - between) / rest) / whole, 0.0, 1.0);
}

}  // namespace

std::vector<std::optional<double>> importance(const std::vector<Parameter>& parameters,
                                              const std::vector<Observation>& observations) {
  std::vector<double> results;
  std::vector<std::optional<double>> shares;
  for (const Observation& observation : observations) results.push_back(observation.value);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    std::vector<double> values;
    for (const Observation& observation : observations) values.push_back(observation.point[i]);
    shares.push_back(explained(groups_of(values), results));
  }
  return shares;
}

}  // namespace runner
