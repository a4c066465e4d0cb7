#include <torch/utils.h>

#include <catch2/catch_all.hpp>

#include "components/hooks/hook.hpp"
#include "tests/support/parts.hpp"
#include "tests/support/small_model.hpp"

namespace runner {
namespace {

using Catch::Matchers::WithinAbs;
using testing::part;
using testing::Settings;
using testing::SmallModel;

std::unique_ptr<Hook> ema(const Settings& settings, const SmallModel& model) {
  HookInputs in;
  in.weights = &model.weights;
  return part<HookKind>("ema", settings).build(in);
}

void step(Hook& hook, std::int64_t step) {
  Progress progress;
  progress.step = step;
  Requests requests;
  hook.after_step(progress, requests);
}

double average(const Hook& hook) { return hook.kept_weights()->tensors.at("weight").item<double>(); }

TEST_CASE("ema follows its recursion, and no update that was left out") {
  SmallModel model({1});
  auto hook = ema({{"decay", 0.75}, {"warmup", false}}, model);
  CHECK(hook->kept_weights()->name == "ema");
  double expected = 1;
  for (int i = 1; i <= 5; ++i) {
    const auto value = static_cast<float>(i * i);
    model.set({value});
    step(*hook, i);
    step(*hook, i);  // the next update was left out: the step is the same
    expected = 0.75 * expected + 0.25 * value;
    CHECK_THAT(average(*hook), WithinAbs(expected, 1e-6));
  }
  CHECK(model.weight.item<double>() == 25);  // the weights themselves are as they were
}

TEST_CASE("ema forgets the first weights sooner while it warms up") {
  SmallModel model({0});
  auto hook = ema({{"decay", 0.5}, {"warmup", true}}, model);
  model.set({1});
  double expected = 0;
  for (int i = 1; i <= 12; ++i) {
    step(*hook, i);
    const double decay = std::min(0.5, (1.0 + i) / (10.0 + i));
    expected = decay * expected + (1 - decay);
    CHECK_THAT(average(*hook), WithinAbs(expected, 1e-6));
  }
}

TEST_CASE("ema averages buffers too, and takes counts as they are") {
  SmallModel model({1});
  auto hook = ema({{"decay", 0.5}, {"warmup", false}}, model);
  model.mean.fill_(8);
  model.count.fill_(3);
  step(*hook, 1);
  const auto& tensors = hook->kept_weights()->tensors;
  CHECK(tensors.at("mean").item<double>() == 4);
  CHECK(tensors.at("count").item<std::int64_t>() == 3);
  CHECK(tensors.at("count").scalar_type() == torch::kInt64);
}

TEST_CASE("ema goes on from its state where it was") {
  SmallModel model({0});
  const Settings settings{{"decay", 0.9}};
  auto before = ema(settings, model);
  model.set({1});
  for (int i = 1; i <= 3; ++i) step(*before, i);
  auto after = ema(settings, model);
  after->load(before->save());
  Requests requests;
  Progress progress;
  progress.step = 3;
  after->start(progress, {}, requests);
  step(*after, 3);
  CHECK(average(*after) == average(*before));
  step(*before, 4);
  step(*after, 4);
  CHECK(average(*after) == average(*before));
  SmallModel other({0, 0});
  CHECK_THROWS_WITH(ema(settings, other)->load(before->save()), Catch::Matchers::ContainsSubstring("weight"));
}

}  // namespace
}  // namespace runner
