#pragma once

#include <string>
#include <utility>
#include <vector>

#include "components/contract/batch.hpp"
#include "components/contract/data_spec.hpp"
#include "components/losses/loss.hpp"
#include "registry/component.hpp"

namespace runner {

// Measured over a whole evaluation set, exactly, however it was cut into batches: update() only accumulates.
class Metric {
 public:
  virtual ~Metric() = default;

  virtual std::vector<std::string> names() const = 0;  // what compute() will report, known before any data
  virtual void reset() = 0;
  virtual void update(const torch::Tensor& output, const Batch& batch) = 0;
  virtual std::vector<std::pair<std::string, double>> compute() const = 0;
  virtual std::string text() const {
    return {};
  }  // what numbers alone do not show, for the log and the trackers
};

struct MetricInputs {
  DataSpec data;  // classes may be unknown (0) where only names() is asked for
  const Loss* loss =
      nullptr;  // the recipe's loss, for metrics that report it; none where only names() is asked for
};

struct MetricKind {
  static constexpr std::string_view name = "metric";
  static constexpr std::string_view summary = "What an evaluation reports.";
  static constexpr KindOnResume on_resume{.part = OnResume::harmless, .parameters = OnResume::harmless};
  using Product = Metric;
  using Inputs = MetricInputs;
};

}  // namespace runner
