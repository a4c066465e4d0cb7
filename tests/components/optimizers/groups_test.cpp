#include "components/optimizers/groups.hpp"

#include <torch/types.h>

#include <catch2/catch_all.hpp>

namespace runner::testing {
namespace {

using Catch::Matchers::ContainsSubstring;
using Names = std::vector<std::string>;

torch::OrderedDict<std::string, torch::Tensor> network() {
  torch::OrderedDict<std::string, torch::Tensor> named;
  const auto add = [&](const char* name, const std::vector<std::int64_t>& shape) {
    named.insert(name, torch::zeros(shape).requires_grad_());
  };
  add("conv1.weight", {4, 3, 3, 3});
  add("bn1.weight", {4});
  add("bn1.bias", {4});
  add("layer1.fc.weight", {4, 4});
  add("fc.weight", {2, 4});
  add("fc.bias", {2});
  return named;
}

TEST_CASE("without rules all parameters are one group", "[optimizers]") {
  const auto groups = make_groups(network(), {});
  REQUIRE(groups.size() == 1);
  REQUIRE(groups[0].names.size() == 6);
  REQUIRE(groups[0].parameters.size() == 6);
  REQUIRE_FALSE(groups[0].weight_decay);
}

TEST_CASE("biases and norms can be spared from weight decay", "[optimizers]") {
  const auto groups = make_groups(network(), {.decay_biases_and_norms = false});
  REQUIRE(groups.size() == 2);
  REQUIRE(groups[0].names == Names{"conv1.weight", "layer1.fc.weight", "fc.weight"});
  REQUIRE_FALSE(groups[0].weight_decay);
  REQUIRE(groups[1].names == Names{"bn1.weight", "bn1.bias", "fc.bias"});
  REQUIRE(groups[1].weight_decay == 0.0);
}

TEST_CASE("the first rule that matches counts, and its weight decay holds for biases too", "[optimizers]") {
  const auto groups = make_groups(network(), {.group = {{"fc.*", 10.0, 0.5}, {"*fc*", 0.1, std::nullopt}},
                                              .decay_biases_and_norms = false});
  REQUIRE(groups.size() == 4);
  REQUIRE(groups[0].names == Names{"fc.weight", "fc.bias"});
  REQUIRE(groups[0].lr_multiplier == 10.0);
  REQUIRE(groups[0].weight_decay == 0.5);
  REQUIRE(groups[1].names == Names{"layer1.fc.weight"});
  REQUIRE(groups[1].lr_multiplier == 0.1);
  REQUIRE_FALSE(groups[1].weight_decay);
  REQUIRE(groups[2].names == Names{"conv1.weight"});
  REQUIRE(groups[3].names == Names{"bn1.weight", "bn1.bias"});
}

TEST_CASE("frozen parameters are in no group", "[optimizers]") {
  auto named = network();
  named["conv1.weight"].requires_grad_(false);
  const auto groups = make_groups(named, {});
  REQUIRE(groups[0].names.front() == "bn1.weight");
  for (auto& entry : named) entry.value().requires_grad_(false);
  REQUIRE_THROWS_WITH(make_groups(named, {}), ContainsSubstring("no parameters to train"));
}

TEST_CASE("a rule that would have no effect is an error that says why", "[optimizers]") {
  auto named = network();
  REQUIRE_THROWS_WITH(make_groups(named, {.group = {{"fcc"}}}),
                      ContainsSubstring("optimizer.group.0.match") && ContainsSubstring("did you mean \"fc"));
  REQUIRE_THROWS_WITH(make_groups(named, {.group = {{"*"}, {"fc.*"}}}),
                      ContainsSubstring("optimizer.group.1.match") && ContainsSubstring("earlier group"));
  named["conv1.weight"].requires_grad_(false);
  REQUIRE_THROWS_WITH(make_groups(named, {.group = {{"conv1.*"}}}), ContainsSubstring("frozen"));
}

}  // namespace
}  // namespace runner::testing
