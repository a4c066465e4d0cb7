#pragma once

#include <functional>
#include <string>

#include "runner/train/journal.hpp"
#include "runner/train/run.hpp"

namespace runner {

// What reaches into the loop from outside.
struct Surroundings {
  std::function<bool()> interrupted;              // asked before every step
  std::filesystem::path folder;                   // of the run
  std::optional<std::int64_t> steps = {};         // none: as many as planned
  std::optional<std::int64_t> eval_batches = {};  // none: the whole evaluation set
};

// The loop: from where the run stands to its end, or until somebody asks it to stop. Returns why it ended
// early; empty where it did not.
std::string train(Run& run, Journal& journal, const Surroundings& surroundings);

}  // namespace runner
