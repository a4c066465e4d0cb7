#include <torch/types.h>

#include <catch2/catch_all.hpp>

#include "components/losses/loss.hpp"
#include "tests/support/parts.hpp"
#include "tests/support/wave.hpp"

namespace runner::testing {
namespace {

using Catch::Matchers::ContainsSubstring;

TEST_CASE("mse: sum over weight is PyTorch's mean, whatever the type of the targets", "[losses]") {
  const auto mse = part<LossKind>("mse").build({});
  const torch::Tensor output = wave({6, 3}, 0.3);
  const torch::Tensor target =
      (4 * wave({6, 3}, 1.3)).to(GENERATE(torch::kFloat32, torch::kFloat64, torch::kInt64));
  const Batch batch{torch::zeros({6, 1}), target};
  const double expected = torch::mse_loss(output, target.to(torch::kFloat32)).item<double>();
  REQUIRE_THAT(mse->sum(output, batch).item<double>() / mse->weight(batch),
               Catch::Matchers::WithinRel(expected, 1e-6));
}

TEST_CASE("mse takes one number for each example with or without its own dimension, and broadcasts nothing",
          "[losses]") {
  const auto mse = part<LossKind>("mse").build({});
  const torch::Tensor target = wave({6}, 1.3);
  const Batch batch{torch::zeros({6, 1}), target};
  const double expected = (wave({6}, 0.3) - target).square().sum().item<double>();
  REQUIRE_THAT(mse->sum(wave({6, 1}, 0.3), batch).item<double>(), Catch::Matchers::WithinRel(expected, 1e-6));
  REQUIRE_THAT(mse->sum(wave({6}, 0.3), batch).item<double>(), Catch::Matchers::WithinRel(expected, 1e-6));
  REQUIRE_THROWS_WITH(mse->sum(wave({6, 6}, 0.3), batch),
                      ContainsSubstring("[6, 6]") && ContainsSubstring("[6]"));
  const Batch column{torch::zeros({6, 1}), target.unsqueeze(1)};
  REQUIRE_THROWS_WITH(mse->sum(wave({6}, 0.3), column), ContainsSubstring("same shape"));
}

}  // namespace
}  // namespace runner::testing
