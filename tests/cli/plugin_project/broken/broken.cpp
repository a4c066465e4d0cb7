// A component "broken" of every kind, whose build() fails in the way that its setting says; and what a plugin
// does at the end of the program.
#include <cstdio>
#include <cstdlib>

#include "components/adapters/adapter.hpp"
#include "components/datasets/dataset.hpp"
#include "components/hooks/hook.hpp"
#include "components/losses/loss.hpp"
#include "components/metrics/metric.hpp"
#include "components/models/model.hpp"
#include "components/optimizers/optimizer.hpp"
#include "components/precisions/precision.hpp"
#include "components/schedulers/scheduler.hpp"
#include "components/tokenizers/tokenizer.hpp"
#include "components/trackers/tracker.hpp"
#include "components/transforms/transform.hpp"

namespace runner {
namespace {

enum class Way { error, bug, number, nothing, exits };
constexpr auto describe(std::type_identity<Way>) {
  return choices(
      choice("error", Way::error, "Throws std::runtime_error."),
      choice("bug", Way::bug, "Throws std::out_of_range."), choice("number", Way::number, "Throws an int."),
      choice("nothing", Way::nothing, "Returns nullptr."), choice("exit", Way::exits, "Ends the program."));
}

struct Broken {
  Way way = Way::error;
};
constexpr auto describe(std::type_identity<Broken>) {
  return fields(field("way", &Broken::way, "How it fails."));
}

template <Kind K>
std::unique_ptr<typename K::Product> build(const Broken& broken, const typename K::Inputs&) {
  switch (broken.way) {
    case Way::error: throw std::runtime_error("the width must be even");
    case Way::bug: std::vector<int>().at(7) = 1; break;
    case Way::number: throw 42;
    case Way::nothing: return nullptr;
    case Way::exits: std::exit(3);
  }
  return nullptr;
}

const Registration<AdapterKind> adapter{"broken", "Cannot be built.", &build<AdapterKind>};
const Registration<DatasetKind> dataset{"broken", "Cannot be built.", &build<DatasetKind>};
const Registration<HookKind> hook{"broken", "Cannot be built.", &build<HookKind>};
const Registration<LossKind> loss{"broken", "Cannot be built.", &build<LossKind>};
const Registration<MetricKind> metric{"broken", "Cannot be built.", &build<MetricKind>};
const Registration<ModelKind> model{"broken", "Cannot be built.", &build<ModelKind>};
const Registration<OptimizerKind> optimizer{"broken", "Cannot be built.", &build<OptimizerKind>};
const Registration<PrecisionKind> precision{"broken", "Cannot be built.", &build<PrecisionKind>};
const Registration<SchedulerKind> scheduler{"broken", "Cannot be built.", &build<SchedulerKind>};
const Registration<TokenizerKind> tokenizer{"broken", "Cannot be built.", &build<TokenizerKind>};
const Registration<TrackerKind> tracker{"broken", "Cannot be built.", &build<TrackerKind>};
const Registration<TransformKind> transform{"broken", "Cannot be built.", &build<TransformKind>};

// A hook that throws in the middle of training, and a static object that is destroyed after every component.
struct ThrowingHook {};
constexpr auto describe(std::type_identity<ThrowingHook>) { return fields(); }

int alive = 0;

class Thrower final : public Hook {
 public:
  Thrower() { ++alive; }
  ~Thrower() override { --alive; }
  void after_step(const Progress&, Requests&) override { throw 42; }
};

std::unique_ptr<Hook> build_thrower(const ThrowingHook&, const HookInputs&) {
  return std::make_unique<Thrower>();
}

const Registration<HookKind> thrower{"thrower", "Throws an int after the first step.", &build_thrower};

struct Farewell {
  ~Farewell() { std::fprintf(stderr, "farewell of the plugin, %d alive\n", alive); }
} const farewell;

}  // namespace
}  // namespace runner
