#include <torch/utils.h>

#include <catch2/catch_all.hpp>

#include "components/hooks/hook.hpp"
#include "components/hooks/tensor_histogram.hpp"
#include "tests/support/parts.hpp"
#include "tests/support/small_model.hpp"

namespace runner {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;
using testing::part;
using testing::Setting;
using testing::Settings;
using testing::SmallModel;

std::unique_ptr<Hook> histograms(const Settings& settings, const SmallModel& model) {
  HookInputs in;
  in.weights = &model.weights;
  return part<HookKind>("histograms", settings).build(in);
}

TEST_CASE("a histogram counts every finite value once, in equal buckets") {
  const Histogram found = histogram_of(torch::tensor({-1.0F, 0.1F, 0.1F, 1.0F, NAN, INFINITY}), 4);
  CHECK(found.min == -1);
  CHECK(found.max == 1);
  CHECK(found.count == 4);
  CHECK_THAT(found.sum, WithinAbs(0.2, 1e-7));
  CHECK_THAT(found.sum_of_squares, WithinAbs(2.02, 1e-7));
  CHECK(found.limits == std::vector<double>{-0.5, 0, 0.5, 1});
  CHECK(found.counts == std::vector<double>{1, 0, 2, 1});
}

TEST_CASE("a histogram of diverged values counts them, too") {
  const Histogram found = histogram_of(torch::tensor({-3e38F, 0.0F, 1e38F, 3e38F}), 4);
  CHECK(found.counts == std::vector<double>{1, 0, 2, 1});
}

TEST_CASE("a histogram of equal values, and of none") {
  const Histogram equal = histogram_of(torch::full({5}, 2.0F));
  CHECK(equal.limits == std::vector<double>{2});
  CHECK(equal.counts == std::vector<double>{5});
  CHECK(histogram_of(torch::full({3}, NAN)).count == 0);
}

TEST_CASE("histograms shows weights and gradients of the parameters asked for, and asks for no more steps") {
  SmallModel model({3, 4});
  model.weight.mutable_grad() = torch::tensor({6.0F, -8.0F});
  auto hook = histograms({{"every", 10}}, model);
  Progress progress;
  CHECK(hook->wants_gradients(progress));
  progress.step = 9;
  CHECK_FALSE(hook->wants_gradients(progress));
  progress.step = 20;
  CHECK(hook->wants_gradients(progress));
  Requests requests;
  hook->before_update(progress, 0, 0, requests);
  std::map<std::string, Histogram> found;
  for (const auto& [tag, histogram] : requests.take_histograms()) found[tag] = histogram;
  REQUIRE(found.size() == 3);  // the bias has no gradient
  CHECK(found.at("weights/weight").max == 4);
  CHECK(found.at("gradients/weight").min == -8);
  CHECK(found.at("weights/bias").count == 1);
  std::map<std::string, double> norms;
  for (const auto& [name, value] : requests.take_measurements()) norms[name] = value;
  CHECK_THAT(norms.at("weight_norm/weight"), WithinRel(5.0, 1e-6));
  CHECK_THAT(norms.at("gradient_norm/weight"), WithinRel(10.0, 1e-6));
  CHECK(norms.size() == 3);
}

TEST_CASE("histograms keeps to its pattern, and refuses one that selects nothing") {
  const SmallModel model({1});
  auto hook = histograms({{"match", Setting::list({"bias"})}, {"norms", false}}, model);
  Requests requests;
  hook->before_update({}, 0, 0, requests);
  CHECK(requests.take_histograms().size() == 1);
  CHECK(requests.take_measurements().empty());
  CHECK_THROWS_WITH(histograms({{"match", Setting::list({"layer9"})}}, model),
                    ContainsSubstring("matches nothing"));
}

}  // namespace
}  // namespace runner
