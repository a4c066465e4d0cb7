#pragma once

#include <optional>
#include <string>
#include <vector>

#include "components/contract/data_spec.hpp"

namespace runner {

// What the targets of a dataset mean. This cannot be seen from the tensors: floats in the shape of the
// outputs may be binary labels, class probabilities, or numbers to predict. The loss decides.
enum class Targets {
  class_index,   // one of several classes, by its number
  class_shares,  // a probability for each class, as mixup creates them
  binary,   // 0 or 1 for each output, independent of the others: multi-label, or one score for two classes
  numbers,  // to be predicted as they are: regression
  tokens,   // the next token for each position
};

std::string to_string(Targets targets);
std::string to_string(const std::vector<Targets>& targets);  // "class indices or numbers"

// What targets of this shape and type can mean.
std::vector<Targets> possible_targets(const DataSpec& data);

// What both accept, in the order of the first; an empty list accepts anything. No value if they have nothing
// in common.
std::optional<std::vector<Targets>> shared_targets(const std::vector<Targets>& one,
                                                   const std::vector<Targets>& other);

}  // namespace runner
