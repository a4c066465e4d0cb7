#include <torch/utils.h>

#include <catch2/catch_all.hpp>

#include <limits>

#include "components/hooks/hook.hpp"
#include "tests/support/parts.hpp"
#include "tests/support/small_model.hpp"

namespace runner {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinRel;
using testing::part;
using testing::Settings;
using testing::SmallModel;

constexpr std::int64_t batch = 32;

std::unique_ptr<Hook> gradient_noise(const Settings& settings, const SmallModel& model) {
  HookInputs in;
  in.weights = &model.weights;
  return part<HookKind>("gradient_noise", settings).build(in);
}

Progress at(std::int64_t step) {
  Progress progress;
  progress.step = step;
  progress.examples = batch * step;
  return progress;
}

// The measurements of some steps whose gradients the function gives.
template <class Gradient>
Measurements measure(Hook& hook, SmallModel& model, int steps, const Gradient& gradient) {
  Requests requests;
  for (int step = 0; step < steps; ++step) {
    model.weight.mutable_grad() = gradient(step);
    if (hook.wants_gradients(at(step))) hook.before_update(at(step), 0, 0, requests);
    hook.after_step(at(step + 1), requests);
  }
  return requests.take_measurements();
}

TEST_CASE("gradient_noise equals the formula of two batch sizes") {
  SmallModel model({0, 0});
  auto hook = gradient_noise({{"every", 2}, {"over", 2}}, model);
  // Squared norms 25 and 1; the mean is (2, 1.5), of squared norm 6.25.
  const auto found = measure(*hook, model, 2, [](int step) {
    return step == 0 ? torch::tensor({4.0F, 3.0F}) : torch::tensor({0.0F, 0.0F});
  });
  const double small = 25.0 / 2, large = 6.25;
  const double signal = (64 * large - 32 * small) / 32, noise = (small - large) / (1.0 / 32 - 1.0 / 64);
  CHECK(signal == 0);  // as much noise as can be: no scale
  CHECK(noise > 0);
  CHECK(found.empty());
  auto other = gradient_noise({{"every", 2}, {"over", 2}}, model);
  const auto more = measure(*other, model, 2, [](int step) {
    return step == 0 ? torch::tensor({4.0F, 3.0F}) : torch::tensor({4.0F, 1.0F});
  });
  // (25 + 17) / 2 = 21, and (4, 2): 20.
  const double s = (64 * 20.0 - 32 * 21.0) / 32, n = (21.0 - 20.0) / (1.0 / 32 - 1.0 / 64);
  REQUIRE(more.size() == 1);
  CHECK(more[0].first == "train/gradient_noise_scale");
  CHECK_THAT(more[0].second, WithinRel(n / s, 1e-5));
}

TEST_CASE("gradient_noise finds the noise that was put into the gradients") {
  torch::manual_seed(3);
  SmallModel model(std::vector<float>(1000, 0.0F));
  auto hook = gradient_noise({{"every", 8}, {"over", 8}, {"smoothing", 0.99}}, model);
  // |G|^2 = 1000 * 0.01 = 10; each example adds variance 4 an element, so the trace is 4000: a scale of 400.
  const auto found = measure(*hook, model, 800, [](int) {
    return 0.1 + 2 * torch::randn({1000}) / std::sqrt(static_cast<double>(batch));
  });
  REQUIRE(found.size() == 1);
  CHECK_THAT(found[0].second, WithinRel(400.0, 0.1));
}

TEST_CASE("gradient_noise drops a measurement with a gradient that is not finite, and goes on") {
  SmallModel model({0, 0});
  auto hook = gradient_noise({{"every", 2}, {"over", 2}}, model);
  const float bad = GENERATE(std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN());
  const auto nothing = measure(*hook, model, 2, [&](int) { return torch::tensor({4.0F, bad}); });
  CHECK(nothing.empty());
  const auto gradient = [](int step) { return torch::tensor({4.0F, step == 0 ? 3.0F : 1.0F}); };
  const auto found = measure(*hook, model, 2, gradient);
  auto spared = gradient_noise({{"every", 2}, {"over", 2}}, model);
  CHECK(found == measure(*spared, model, 2, gradient));
  CHECK(found.size() == 1);
}

TEST_CASE("gradient_noise looks at a number of consecutive steps and then rests") {
  SmallModel model({0, 0});
  auto hook = gradient_noise({{"every", 5}, {"over", 2}}, model);
  std::string wanted;
  Requests requests;
  for (int step = 0; step < 10; ++step) {
    wanted += hook->wants_gradients(at(step)) ? '1' : '0';
    hook->after_step(at(step + 1), requests);
  }
  CHECK(wanted == "1100011000");
  CHECK_THROWS_WITH((part<HookKind>("gradient_noise", {{"every", 4}, {"over", 5}})),
                    ContainsSubstring("less than"));
}

}  // namespace
}  // namespace runner
