#pragma once

#include <optional>
#include <string>

#include "runner/terminal/console.hpp"
#include "runner/terminal/format.hpp"

namespace runner {

// "epoch 3/5  ━━━━╸────  45%  step 880/1,955  loss 0.4312  lr 0.001  2,345 examples/s  ETA 1m 02s", in at
// most look.width columns: what matters least is dropped first if there is no room.
std::string live_progress(const ProgressLine& line, std::optional<double> eta, const Look& look);

// The same without a bar and of any length, for files.
std::string plain_progress(const ProgressLine& line, std::optional<double> eta);

std::string live_evaluation(double share, const Look& look);

// "accuracy 0.4512", "loss 1.502". Names of classes come from files: they are escaped and shortened, and of
// very many only the first are shown.
std::vector<std::string> measurement_texts(const std::vector<std::pair<std::string, double>>& measurements,
                                           std::string_view without, const Style& style);

// "eval  epoch 1  step 391  accuracy 0.4512  loss 1.502  in 3.2s  best so far"
std::string evaluation_text(const EvalLine& line, const Look& look);

}  // namespace runner
