#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runner/predict/load_run.hpp"

namespace runner {

// The prediction for one example: classes, labels or values.
struct Prediction {
  std::string input;
  std::vector<std::pair<std::string, double>> classes = {};  // with probabilities, the likeliest first
  std::vector<std::pair<std::string, double>> labels = {};   // with independent probabilities
  std::vector<double> values = {};                           // numbers, for regression
};

// Predicts for image files, rows or sentences, as the run's dataset reads them. An input with several
// examples, such as a file of rows, gives one prediction for each: "rows.csv row 1" .. Throws DataError if an
// input cannot be read.
std::vector<Prediction> predict(TrainedRun& run, std::span<const std::string> inputs);

}  // namespace runner
