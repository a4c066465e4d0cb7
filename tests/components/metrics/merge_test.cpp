// A validation set that several objects share, merged in the order of the data, gives what one object gives.
#include <torch/types.h>

#include <catch2/catch_all.hpp>

#include "components/metrics/metric.hpp"
#include "tests/support/parts.hpp"
#include "tests/support/wave.hpp"

namespace runner::testing {
namespace {

constexpr std::int64_t examples = 60, classes = 4, batch_size = 5;

struct Case {
  std::string metric;
  Settings settings = {};
  Targets targets = Targets::class_index;
  bool exact = true;  // counts and lists; sums of doubles in another order may differ in the last bit
};

torch::Tensor output_for(Targets targets) {
  return targets == Targets::numbers ? wave({examples, 2}, 0.4) : wave({examples, classes}, 0.3);
}
torch::Tensor target_for(Targets targets) {
  if (targets == Targets::numbers) return 100 + wave({examples, 2}, 1.4);
  if (targets == Targets::binary) return wave({examples, classes}, 2.2).gt(0).to(torch::kFloat32);
  return torch::arange(examples).remainder(classes);
}

std::vector<Case> cases() {
  std::vector<Case> all{{"top_k", {{"k", 2}}},
                        {"expected_calibration_error", {}, Targets::class_index, false},
                        {"loss", {}, Targets::class_index, false},
                        {"perplexity", {}, Targets::class_index, false},
                        {"mae", {}, Targets::numbers, false},
                        {"rmse", {}, Targets::numbers, false},
                        {"r2", {}, Targets::numbers, false},
                        {"accuracy", {{"labels", "each"}}, Targets::binary},
                        {"f1", {{"average", "samples"}}, Targets::binary, false}};
  for (const Targets targets : {Targets::class_index, Targets::binary}) {
    for (const std::string name :
         {"accuracy", "precision", "recall", "f1", "auroc", "average_precision", "confusion_matrix"})
      all.push_back({name, {}, targets});
  }
  return all;
}

std::unique_ptr<Metric> fresh(const Case& one, const Loss& loss) {
  return part<MetricKind>(one.metric, one.settings).build({{.classes = classes}, &loss, one.targets});
}

void update(Metric& metric, const Case& one, std::int64_t begin, std::int64_t end) {
  for (; begin < end; begin += batch_size)
    metric.update(
        output_for(one.targets).slice(0, begin, begin + batch_size),
        {torch::zeros({batch_size, 1}), target_for(one.targets).slice(0, begin, begin + batch_size)});
}

TEST_CASE("merged metrics are those of the whole set", "[metrics]") {
  const auto loss = part<LossKind>("cross_entropy").build({});
  const std::int64_t parts = GENERATE(2, 3);
  for (const Case& one : cases()) {
    DYNAMIC_SECTION(one.metric << " " << to_string(one.targets) << ", " << parts << " parts") {
      const auto whole = fresh(one, *loss);
      whole->reset();
      update(*whole, one, 0, examples);
      const auto merged = fresh(one, *loss);
      merged->reset();
      merged->merge(fresh(one, *loss)->accumulated());  // of one that has seen nothing
      for (std::int64_t i = 0; i < parts; ++i) {
        const auto own = fresh(one, *loss);
        own->reset();
        update(*own, one, i * examples / parts, (i + 1) * examples / parts);
        merged->merge(own->accumulated().copy());
      }
      const auto expected = whole->compute(), found = merged->compute();
      REQUIRE(found.size() == expected.size());
      for (std::size_t i = 0; i < found.size(); ++i) {
        CHECK(found[i].first == expected[i].first);
        if (one.exact) CHECK(found[i].second == expected[i].second);
        CHECK_THAT(found[i].second, Catch::Matchers::WithinRel(expected[i].second, 1e-13));
      }
      CHECK(merged->text() == whole->text());
      update(*merged, one, 0, batch_size);  // and it goes on from there
    }
  }
}

TEST_CASE("a state that is not of this metric is refused", "[metrics]") {
  const auto loss = part<LossKind>("cross_entropy").build({});
  for (const std::string name : {"accuracy", "f1", "auroc", "confusion_matrix", "loss", "mae"}) {
    const auto metric = fresh({name}, *loss);
    CHECK_THROWS_AS(metric->merge({.numbers = {{"something", 1}}}), StateError);
  }
}

TEST_CASE("every metric there is can be merged", "[metrics]") {
  std::vector<std::string> tested;
  for (const Case& one : cases()) tested.push_back(one.metric);
  const Registry registry = Registry::of_linked();
  for (const Descriptor* component : registry.of_kind("metric")) {
    INFO(component->name);
    CHECK(std::ranges::find(tested, component->name) != tested.end());
  }
}

}  // namespace
}  // namespace runner::testing
