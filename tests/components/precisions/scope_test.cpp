#include <ATen/Context.h>
#include <ATen/autocast_mode.h>

#include <catch2/catch_all.hpp>

#include "registry/base/log.hpp"
#include "tests/components/precisions/training.hpp"
#include "tests/support/parts.hpp"
#include "tests/support/quiet.hpp"

namespace runner::testing {
namespace {

using Catch::Matchers::ContainsSubstring;

TEST_CASE("autocast is on within the scope and as before after it", "[precisions]") {
  const auto [name, type] = GENERATE(std::pair<std::string, torch::Dtype>{"bf16", torch::kBFloat16},
                                     std::pair<std::string, torch::Dtype>{"fp16", torch::kFloat16},
                                     std::pair<std::string, torch::Dtype>{"fp8", torch::kBFloat16});
  SmallNet net;
  const Batch batch{wave({rows, inputs}, 0.5), {}};
  const auto precision = part<PrecisionKind>(name).build({});
  precision->prepare(net);
  {
    const auto scope = precision->forward();
    REQUIRE(at::autocast::is_autocast_enabled(at::kCPU));
    REQUIRE(net.forward(batch).scalar_type() == type);
    {
      const auto inner = precision->forward();
    }
    REQUIRE(net.forward(batch).scalar_type() == type);
  }
  REQUIRE_FALSE(at::autocast::is_autocast_enabled(at::kCPU));
  REQUIRE(net.forward(batch).scalar_type() == torch::kFloat32);
}

TEST_CASE("an update after a pass is seen by the next pass", "[precisions]") {
  SmallNet net;
  const Batch batch{wave({rows, inputs}, 0.5), {}};
  const auto precision = part<PrecisionKind>("bf16").build({});
  const auto pass = [&] {
    const auto scope = precision->forward();
    return net.forward(batch);
  };
  const torch::Tensor before = pass();
  {
    const torch::NoGradGuard no_grad;
    net.fc2->weight.mul_(2);
  }
  REQUIRE_FALSE(torch::equal(before, pass()));
}

TEST_CASE("fp32 applies its switches and says what has no effect", "[precisions]") {
  const testing::Quiet quiet;
  const auto plain = part<PrecisionKind>("fp32").build({});
  REQUIRE(plain->summary() == "fp32");
  REQUIRE(at::globalContext().float32MatmulPrecision() == at::Float32MatmulPrecision::HIGHEST);
  const auto medium = part<PrecisionKind>("fp32", {{"matmul_precision", "medium"}}).build({});
  REQUIRE(at::globalContext().float32MatmulPrecision() == at::Float32MatmulPrecision::MEDIUM);
  REQUIRE_THAT(medium->summary(), ContainsSubstring("medium"));
  REQUIRE(log::warnings().empty());
  const auto tf32 = part<PrecisionKind>("fp32", {{"tf32", true}}).build({});
  REQUIRE(at::globalContext().float32MatmulPrecision() == at::Float32MatmulPrecision::HIGHEST);
  REQUIRE(log::warnings().size() == 1);
  REQUIRE_THAT(log::warnings().front(), ContainsSubstring("precision.tf32 has no effect on the CPU"));
}

TEST_CASE("fp16 refuses state that is not its own", "[precisions]") {
  REQUIRE_THROWS_WITH(part<PrecisionKind>("fp16").build({})->load({}), ContainsSubstring("loss_scale"));
}

}  // namespace
}  // namespace runner::testing
