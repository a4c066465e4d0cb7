#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "components/contract/histogram.hpp"
#include "registry/component.hpp"

namespace runner {

// What was measured at one moment of the run.
struct Record {
  std::int64_t step = 0;
  double epoch = 0;
  double time = 0;                                          // seconds since the run began
  std::vector<std::pair<std::string, double>> values = {};  // "train/loss", "eval/accuracy" ..
};

using Setting = std::variant<bool, double, std::string>;

struct RunFacts {
  std::string name;
  std::filesystem::path folder;
  std::string recipe;                                     // resolved, as TOML, without secrets
  std::vector<std::pair<std::string, Setting>> settings;  // the same, flat: "optimizer.lr"
};

enum class Outcome { finished, stopped, failed };

// Writes measurements somewhere. Its functions are called one at a time and off the training thread, so they
// may take their time; what they throw switches this tracker off with a warning, and the run goes on.
class Tracker {
 public:
  virtual ~Tracker() = default;

  virtual void start(const RunFacts& /*facts*/) {}
  virtual void log(const Record& record) = 0;
  virtual void text(std::string_view /*tag*/, std::string_view /*text*/, std::int64_t /*step*/) {}
  virtual void histogram(std::string_view /*tag*/, const Histogram& /*histogram*/, std::int64_t /*step*/) {}
  virtual void flush() {}  // nothing waits at the moment: a good time to let others see what was logged
  virtual void finish(Outcome /*outcome*/) {}
};

struct TrackerInputs {
  std::filesystem::path folder;  // of the run
};

struct TrackerKind {
  static constexpr std::string_view name = "tracker";
  static constexpr std::string_view summary = "Where measurements are written.";
  static constexpr KindOnResume on_resume{.part = OnResume::harmless, .parameters = OnResume::harmless};
  using Product = Tracker;
  using Inputs = TrackerInputs;
};

}  // namespace runner
