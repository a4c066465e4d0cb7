#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "runner/check/set_findings.hpp"
#include "runner/recipe/recipe.hpp"

namespace runner {

struct Duplicate {
  std::int64_t train = 0, eval = 0;
  std::string label;
};

struct ShownExample {
  std::string label;
  std::string image = {};  // a data: URI
  std::string text = {};
};

// What was found in the data of a recipe, as the model will see it.
struct DataFindings {
  std::string dataset;
  std::string stand_in;               // why this is not the data asked for; empty: it is
  std::vector<std::string> problems;  // as sentences, the worst first
  std::vector<std::string> notes;
  std::vector<SetFindings> sets;      // training, then validation if there is one
  std::vector<Duplicate> duplicates;  // the first few; duplicate_count is the total
  std::int64_t duplicate_count = 0;
  std::vector<ShownExample> examples;  // of the training set, after all transforms
  std::vector<ShownTokens> tokens;     // of the training set, if only some tokens are trained on
  bool failed = false;                 // something is wrong that a training would only hide
};

// Opens the dataset of the recipe and reads at most `most_examples` of each set.
// The findings have the tokens of the first `shown_tokens` training examples.
DataFindings examine_data(const Recipe& recipe, std::int64_t most_examples, std::int64_t shown_tokens = 0);

// Adds the problems and notes that follow from the other findings.
void find_problems(DataFindings& found);

nlohmann::ordered_json to_json(const DataFindings& found);
nlohmann::ordered_json to_json(const ShownTokens& example);

}  // namespace runner
