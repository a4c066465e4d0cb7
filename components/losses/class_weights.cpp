#include "components/losses/class_weights.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "registry/base/log.hpp"
#include "registry/base/suggest.hpp"
#include "registry/base/wording.hpp"

namespace runner {

namespace {

std::vector<double> balanced(const LossInputs& inputs) {
  const auto& counts = inputs.class_counts;
  if (counts.empty()) {
    throw std::runtime_error(
        "loss.class_weights = \"balanced\" needs a dataset that knows the class of each training example; "
        "give a number for each class instead.");
  }
  const auto all = static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}));
  std::vector<double> weights;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) {
      const bool named = i < inputs.data.class_names.size();
      throw std::runtime_error(
          log::format("loss.class_weights = \"balanced\": there is no training example of class {}, so its "
                      "weight cannot be computed; give the weights by name.",
                      named ? in_quotes(inputs.data.class_names[i]) : std::to_string(i)));
    }
    weights.push_back(all / (static_cast<double>(counts.size()) * static_cast<double>(counts[i])));
  }
  return weights;
}

std::vector<double> by_name(const std::map<std::string, double>& named, const DataSpec& data) {
  std::vector<std::string> names = data.class_names;
  for (auto i = std::ssize(names); i < data.classes; ++i) names.push_back(std::to_string(i));
  std::vector<double> weights(names.size(), 1.0);
  for (const auto& [name, weight] : named) {
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) {
      const auto hint = did_you_mean(name, names);
      throw std::runtime_error("loss.class_weights names the class " + in_quotes(name) +
                               ", which the data does not have; " +
                               (hint ? *hint : "it has: " + listed(names)));
    }
    weights[static_cast<std::size_t>(found - names.begin())] = weight;
  }
  return weights;
}

// The loss computes with 32 bits. If no class had a weight, the loss would be 0, and nothing would be learnt.
std::vector<double> usable(std::vector<double> weights) {
  for (const double weight : weights) {
    if (weight != 0 && weight < std::numeric_limits<float>::min())
      throw std::runtime_error(
          log::format("loss.class_weights has {}, which 32 bits cannot hold; use weights around 1.", weight));
  }
  if (!weights.empty() && std::ranges::all_of(weights, [](double weight) { return weight == 0; }))
    throw std::runtime_error("loss.class_weights is 0 for every class: nothing would be learnt.");
  return weights;
}

}  // namespace

std::vector<double> numbers_of(const ClassWeights& weights, const LossInputs& inputs) {
  if (needs_class_counts(weights)) return balanced(inputs);
  if (const auto* named = std::get_if<std::map<std::string, double>>(&weights))
    return usable(by_name(*named, inputs.data));
  return usable(std::get<std::vector<double>>(weights));
}

}  // namespace runner
