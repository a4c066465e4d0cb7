#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "components/contract/batch.hpp"
#include "components/contract/data_spec.hpp"
#include "components/contract/measured.hpp"
#include "components/contract/state.hpp"
#include "components/contract/targets.hpp"
#include "components/losses/loss.hpp"
#include "registry/component.hpp"

namespace runner {

// Computed exactly over a whole validation set, for any batch size: update() only accumulates.
//   struct Sure { double probability = 0.5; };
//   constexpr auto describe(std::type_identity<Sure>) {
//     return fields(field("probability", &Sure::probability, "Of the right class.", within(0, 1)));
//   }
//   MetricFacts facts(const Sure&) { return {{{"sure", Better::max}}, {Targets::class_index}}; }
//   class SureShare final : public Metric { .. };  // reset(), update(), compute(), accumulated(), merge()
//   std::unique_ptr<Metric> build(const Sure& settings, const MetricInputs&);
//   const Registration<MetricKind> registration{"sure", "Share of confident right answers.", &build};
class Metric {
 public:
  virtual ~Metric() = default;

  virtual void reset() = 0;
  virtual void update(const torch::Tensor& output, const Batch& batch) = 0;
  virtual std::vector<std::pair<std::string, double>> compute() const = 0;
  virtual std::string text() const { return {}; }  // in addition to the numbers, for the log and the trackers

  // What update() has accumulated since reset(). merge() adds what another object with the same settings has
  // accumulated: ranks that share a validation set merge in the order of the data, and get the same result as
  // a single rank.
  virtual State accumulated() const = 0;
  virtual void merge(const State& other) = 0;
};

struct MetricInputs {
  DataSpec data = {};
  const Loss* loss = nullptr;           // the recipe's, for metrics that report it
  std::optional<Targets> targets = {};  // how the loss and this metric interpret them; none: unknown
  std::int64_t ignore_index = -100;     // that of the loss, for metrics that are not given their own
};

// Known before anything is built. Every metric states it.
struct MetricFacts {
  std::vector<Measured> measures = {};  // what compute() reports
  std::vector<Targets> targets = {};    // what it supports; empty: whatever the loss supports
};

struct MetricKind {
  static constexpr std::string_view name = "metric";
  static constexpr std::string_view summary = "What an evaluation reports.";
  static constexpr KindOnResume on_resume{.part = OnResume::evaluations, .parameters = OnResume::evaluations};
  using Product = Metric;
  using Inputs = MetricInputs;
  using Facts = MetricFacts;
};

}  // namespace runner
