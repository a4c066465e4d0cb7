#pragma once

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "components/losses/loss.hpp"

namespace runner {

enum class ByFrequency { balanced };
constexpr auto describe(std::type_identity<ByFrequency>) {
  return choices(choice("balanced", ByFrequency::balanced,
                        "rare classes count more: examples / (classes * examples of the class)"));
}

// The weight of each class: one number per class, "balanced", or numbers by class name.
using ClassWeights = std::variant<std::vector<double>, ByFrequency, std::map<std::string, double>>;

inline constexpr std::string_view class_weights_doc =
    "Weight of each class: one number per class in order; \"balanced\": by how rare it is in the training "
    "set, as in scikit-learn; or { name = number }, where classes that are not named have weight 1. Empty: "
    "all equal.";

inline bool needs_class_counts(const ClassWeights& weights) {
  return std::holds_alternative<ByFrequency>(weights);
}

// One weight per class; empty: all equal. Throws std::runtime_error if the data does not have
// these classes, or if the loss cannot use the weights.
std::vector<double> numbers_of(const ClassWeights& weights, const LossInputs& inputs);

}  // namespace runner
