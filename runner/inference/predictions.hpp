#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runner/inference/load_run.hpp"

namespace runner {

// What a trained model says about one example.
struct Prediction {
  std::string input;
  std::vector<std::pair<std::string, double>> classes = {};  // the likeliest first, with their probability
  std::vector<std::pair<std::string, double>> labels = {};   // or the probability of each, on its own
  std::vector<double> values = {};                           // or numbers, where there are no classes
};

// Of image files, rows or sentences, as the run's dataset reads them. An input that holds several examples,
// as a file of rows does, gives as many predictions: "rows.csv row 1" .. Throws DataError where one cannot be
// read.
std::vector<Prediction> predict(TrainedRun& run, std::span<const std::string> inputs);

}  // namespace runner
