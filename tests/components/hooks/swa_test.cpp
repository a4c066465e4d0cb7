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

std::unique_ptr<Hook> swa(const Settings& settings, const SmallModel& model) {
  HookInputs in;
  in.weights = &model.weights;
  return part<HookKind>("swa", settings).build(in);
}

Progress at(std::int64_t step) {
  Progress progress;
  progress.step = step;
  progress.exact_epoch = static_cast<double>(step) / 4;
  progress.share = static_cast<double>(step) / 20;
  return progress;
}

// The weight is the square of the step.
void train(Hook& hook, SmallModel& model, int first, int last) {
  Requests requests;
  hook.start(at(first - 1), {}, requests);
  for (int i = first; i <= last; ++i) {
    model.set({static_cast<float>(i * i)});
    hook.after_step(at(i), requests);
  }
}

TEST_CASE("swa is the mean of the weights at its moments") {
  SmallModel model({7});
  auto hook = swa({{"from", "0.5run"}, {"every", "1ep"}, {"statistics_batches", 5}}, model);
  CHECK(hook->kept_weights()->name == "swa");
  CHECK(hook->kept_weights()->statistics_batches == 5);
  train(*hook, model, 1, 11);
  CHECK(hook->kept_weights()->tensors.empty());  // 8 steps are 2 epochs, but not half of the run
  train(*hook, model, 12, 20);
  const auto& tensors = hook->kept_weights()->tensors;
  CHECK_THAT(tensors.at("weight").item<double>(), WithinAbs((144.0 + 256 + 400) / 3, 1e-4));
  CHECK_FALSE(tensors.contains("mean"));  // statistics are computed anew
}

TEST_CASE("swa counts an update that was left out once") {
  SmallModel model({0});
  auto hook = swa({{"from", "0step"}, {"every", "1step"}}, model);
  train(*hook, model, 1, 2);
  Requests requests;
  model.set({100});
  hook->after_step(at(2), requests);
  CHECK_THAT(hook->kept_weights()->tensors.at("weight").item<double>(), WithinAbs(2.5, 1e-6));
}

TEST_CASE("swa takes the weights of a moment at which the update was left out") {
  SmallModel model({0});
  auto hook = swa({{"from", "0step"}, {"every", "1ep"}}, model);
  train(*hook, model, 1, 3);
  Requests requests;
  Progress end_of_epoch = at(3);
  end_of_epoch.exact_epoch = 1;
  hook->after_step(end_of_epoch, requests);
  REQUIRE_FALSE(hook->kept_weights()->tensors.empty());
  CHECK(hook->kept_weights()->tensors.at("weight").item<double>() == 9);
}

TEST_CASE("swa goes on from its state where it was") {
  const Settings settings{{"from", "0step"}, {"every", "2step"}};
  SmallModel model({0});
  auto whole = swa(settings, model), first = swa(settings, model), second = swa(settings, model);
  train(*whole, model, 1, 8);
  train(*first, model, 1, 5);
  second->load(first->save());
  const auto kept = [](Hook& hook) { return hook.kept_weights()->tensors.at("weight").item<double>(); };
  CHECK(kept(*second) == kept(*first));  // at once: an evaluation may be the first thing of a resumed run
  train(*second, model, 6, 8);
  CHECK(torch::equal(whole->kept_weights()->tensors.at("weight"),
                     second->kept_weights()->tensors.at("weight")));
  auto unused = swa(settings, model);
  unused->load(swa(settings, model)->save());  // of one that had not begun
  CHECK(unused->kept_weights()->tensors.empty());
  second->load(unused->save());  // in a program that goes back to the beginning
  CHECK(second->kept_weights()->tensors.empty());
}

}  // namespace
}  // namespace runner
