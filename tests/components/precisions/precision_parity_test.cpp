// Training under each precision against Python's autocast and GradScaler:
// tests/parity/precisions_reference.py made the numbers.
#include <catch2/catch_all.hpp>

#include "tests/components/precisions/training.hpp"
#include "tests/support/parts.hpp"
#include "tests/support/reference_numbers.hpp"

namespace runner::testing {
namespace {

using Catch::Matchers::WithinAbs;

TEST_CASE("losses and weights over twenty updates agree with Python's", "[precisions]") {
  const ReferenceNumbers reference("precisions.txt");
  // fp32 has 24 bits, fp16 11, bf16 8; kernels round in other orders on other machines.
  const auto [name, tolerance] =
      GENERATE(std::pair<std::string, double>{"fp32", 1e-5}, std::pair<std::string, double>{"fp16", 1e-3},
               std::pair<std::string, double>{"bf16", 1e-2});
  INFO(name);
  SmallNet net;
  const Settings settings = name == "fp16" ? Settings{{"init_scale", 1024.0}} : Settings{};
  const auto precision = part<PrecisionKind>(name, settings).build({});
  precision->prepare(net);
  const Training training = train(net, *precision);
  const auto& losses = reference[name + ".losses"];
  for (std::size_t i = 0; i < losses.size(); ++i)
    REQUIRE_THAT(training.losses[i], WithinAbs(losses[i], tolerance));
  const torch::Tensor weights = torch::tensor(reference[name + ".weights"], torch::kFloat64);
  REQUIRE((all_weights(net) - weights).abs().max().item<double>() < tolerance);
  REQUIRE(training.skipped == 0);
  // The narrow types must leave their mark: a precision that does nothing would pass the rest.
  const double apart = (all_weights(net) - torch::tensor(reference["fp32.weights"], torch::kFloat64))
                           .abs()
                           .max()
                           .item<double>();
  REQUIRE((apart > 1e-6) == (name != "fp32"));
}

TEST_CASE("the loss scale grows after fewer good updates than were counted before", "[precisions]") {
  const auto scaler = [](std::int64_t interval) {
    return part<PrecisionKind>("fp16", {{"init_scale", 256.0}, {"growth_interval", interval}}).build({});
  };
  const auto before = scaler(10), after = scaler(4);
  const auto update = [](Precision& precision) { precision.unscale({torch::ones({2})}); };
  for (int count = 0; count < 7; ++count) update(*before);
  after->load(before->save());
  update(*after);
  REQUIRE(after->report().front().second == 512);
}

TEST_CASE("the loss scale moves as GradScaler's does, and the same updates are skipped", "[precisions]") {
  const ReferenceNumbers reference("precisions.txt");
  const auto precision =
      part<PrecisionKind>(
          "fp16",
          {{"init_scale", 256.0}, {"growth_factor", 3.0}, {"backoff_factor", 0.25}, {"growth_interval", 4}})
          .build({});
  auto restored =
      part<PrecisionKind>("fp16", {{"growth_factor", 3.0}, {"backoff_factor", 0.25}, {"growth_interval", 4}})
          .build({});
  Precision* current = precision.get();
  const torch::Tensor weight = torch::zeros({2}).requires_grad_();
  for (int step = 0; step < 24; ++step) {
    if (step == 12) {  // the second half from saved state
      restored->load(precision->save());
      current = restored.get();
    }
    weight.mutable_grad() = torch::Tensor{};
    const torch::Tensor loss = weight.sum() * 0.5;
    loss.backward(current->scale(torch::ones_like(loss)));
    const bool bad = step == 0 || step == 1 || step == 9 || step == 15;
    if (bad) weight.mutable_grad()[step % 2] = step % 2 ? INFINITY : NAN;
    const auto at = static_cast<std::size_t>(step);
    INFO("update " << step);
    REQUIRE(current->unscale({weight.grad(), torch::Tensor{}}) == (reference["scaler.skipped"][at] == 0));
    REQUIRE(weight.grad()[1 - step % 2].item<double>() == reference["scaler.gradients"][at]);
    REQUIRE(current->report().front() ==
            std::pair<std::string, double>{"loss_scale", reference["scaler.scales"][at]});
  }
}

TEST_CASE("finite gradients stay finite after any number of updates that were skipped", "[precisions]") {
  const auto precision = part<PrecisionKind>("fp16", {{"backoff_factor", 0.1}}).build({});
  for (int i = 0; i < 60; ++i) REQUIRE_FALSE(precision->unscale({torch::full({2}, INFINITY)}));
  const torch::Tensor gradient = precision->scale(torch::ones({2}));
  REQUIRE(precision->unscale({gradient}));
  REQUIRE(gradient.isfinite().all().item<bool>());
  REQUIRE(precision->report().front().second > 0);
  for (const double scale : {1e-40, 1e39})  // of 32 bits, it or its inverse would be infinite
    REQUIRE_THROWS(part<PrecisionKind>("fp16", {{"init_scale", scale}}));
}

}  // namespace
}  // namespace runner::testing
