#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "registry/component.hpp"

namespace runner {

// What was measured at one moment of the run.
struct Record {
  std::int64_t step = 0;
  double epoch = 0;
  double time = 0;  // seconds since the run began
  std::vector<std::pair<std::string, double>> values = {};  // "train/loss", "eval/accuracy" ..
};

struct RunFacts {
  std::string name;
  std::filesystem::path folder;
  std::string recipe;                                                     // resolved, as TOML, without secrets
  std::vector<std::pair<std::string, std::variant<bool, double, std::string>>> settings;  // the same, flat
};

enum class Outcome { finished, stopped, failed };

// Writes measurements somewhere. Called from one background thread, never from the training loop itself.
class Tracker {
 public:
  virtual ~Tracker() = default;

  virtual void start(const RunFacts& /*facts*/) {}
  virtual void log(const Record& record) = 0;
  virtual void text(std::string_view /*tag*/, std::string_view /*text*/, std::int64_t /*step*/) {}
  virtual void finish(Outcome /*outcome*/) {}
};

struct TrackerInputs {
  std::filesystem::path folder;  // of the run
};

struct TrackerKind {
  static constexpr std::string_view name = "tracker";
  static constexpr std::string_view summary = "Where measurements are written.";
  using Product = Tracker;
  using Inputs = TrackerInputs;
};

}  // namespace runner
