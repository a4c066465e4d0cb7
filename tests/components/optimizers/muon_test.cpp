#include <torch/types.h>

#include <catch2/catch_all.hpp>

#include "components/optimizers/groups.hpp"
#include "tests/support/parts.hpp"
#include "tests/support/wave.hpp"

namespace runner::testing {
namespace {

using Catch::Matchers::ContainsSubstring;
using Named = torch::OrderedDict<std::string, torch::Tensor>;

Named parameters(const std::vector<std::pair<std::string, std::vector<std::int64_t>>>& shapes) {
  Named named;
  for (const auto& [name, shape] : shapes) {
    torch::Tensor parameter = torch::zeros(shape).requires_grad_();
    parameter.mutable_grad() = wave(shape, 0.4);
    named.insert(name, parameter);
  }
  return named;
}

std::unique_ptr<Optimizer> muon(const Named& named, const Settings& settings = {}) {
  const auto part = testing::part<OptimizerKind>("muon", settings);
  return part.build({make_groups(named, part.common)});
}

TEST_CASE("muon evens out a tall matrix as it does the wide one, with larger steps", "[optimizers]") {
  Named wide = parameters({{"layer.weight", {3, 4}}}), tall = parameters({{"layer.weight", {4, 3}}});
  tall["layer.weight"].mutable_grad() = wide["layer.weight"].grad().t().contiguous();
  muon(wide)->step(1);
  muon(tall)->step(1);
  const torch::Tensor expected = std::sqrt(4.0 / 3) * wide["layer.weight"].detach().t();
  REQUIRE(expected.abs().max().item<double>() > 1e-4);
  REQUIRE(torch::allclose(tall["layer.weight"].detach(), expected, 1e-2, 1e-6));
}

TEST_CASE("muon leaves embeddings, the head and all that is no matrix to AdamW", "[optimizers]") {
  Named named = parameters({{"embedding.weight", {5, 4}},
                            {"layer.weight", {4, 4}},
                            {"layer.bias", {4}},
                            {"conv.weight", {2, 2, 3, 3}},
                            {"lm_head.weight", {5, 4}}});
  const auto slots = [](const Optimizer& optimizer) {
    std::vector<std::string> names;
    const State state = optimizer.save();
    for (const auto& [name, tensor] : state.parts.at("matrices").tensors) {
      if (name.ends_with(".momentum_buffer")) names.push_back(name);
    }
    return names;
  };
  const auto usual = muon(named);
  usual->step(1);
  REQUIRE(slots(*usual) == std::vector<std::string>{"layer.weight.momentum_buffer"});
  const auto chosen = muon(named, {{"adamw_for", Setting::list({"layer", "embedding"})}});
  chosen->step(1);
  REQUIRE(slots(*chosen) == std::vector<std::string>{"lm_head.weight.momentum_buffer"});
}

TEST_CASE("muon applies the learning rates of groups to matrices and to what AdamW updates", "[optimizers]") {
  const std::string name = GENERATE("layer.weight", "lm_head.weight", "bias");
  const auto updated = [&](double lr_multiplier) {
    const Named named =
        parameters({{name, name == "bias" ? std::vector<std::int64_t>{4} : std::vector<std::int64_t>{4, 4}}});
    std::vector<ParameterGroup> groups{{{name}, {named[name]}, lr_multiplier}};
    part<OptimizerKind>("muon").build({groups, {"layer.weight"}})->step(1);
    return named[name].detach();
  };
  REQUIRE(updated(1).abs().max().item<double>() > 0);
  REQUIRE(torch::allclose(updated(0.25), 0.25 * updated(1)));  // the weights begin at zero: no decay
}

TEST_CASE("muon says where it has nothing to do", "[optimizers]") {
  Named named = parameters({{"layer.weight", {4, 4}}, {"bias", {4}}});
  REQUIRE_THROWS_WITH(muon(named, {{"adamw_for", Setting::list({"layr"})}}),
                      ContainsSubstring("optimizer.adamw_for") && ContainsSubstring("\"layer\""));
  REQUIRE_THROWS_WITH(muon(named, {{"adamw_for", Setting::list({"layer"})}}), ContainsSubstring("use adamw"));
}

TEST_CASE("muon may update a part of the model without a matrix, and without what adamw_for names",
          "[optimizers]") {
  Named named = parameters({{"bias", {4}}});
  const auto build = [&](const char* pattern) {
    const auto part = testing::part<OptimizerKind>("muon", {{"adamw_for", Setting::list({pattern})}});
    return part.build({make_groups(named, part.common), {"layer.weight", "lm_head.weight", "bias"}});
  };
  const auto optimizer = build("lm_head.*");
  optimizer->step(1);
  REQUIRE(named["bias"].abs().max().item<double>() > 0);
  REQUIRE_THROWS_WITH(build("lm_haed.*"), ContainsSubstring("\"lm_haed.*\""));
}

TEST_CASE("a resumed run cannot move matrices between muon and adamw", "[optimizers]") {
  const Named named = parameters({{"fc1.weight", {2, 3}}, {"fc2.weight", {2, 2}}});
  const auto before = muon(named, {{"adamw_for", Setting::list({"fc2"})}}),
             after = muon(named, {{"adamw_for", Setting::list({"fc1"})}});
  before->step(1);
  REQUIRE_THROWS_AS(after->load(before->save()), StateError);
  const Registry registry = Registry::of_linked();  // so it is refused before anything is loaded
  REQUIRE(registry.find("optimizer", "muon")->schema().find("adamw_for")->rules.on_resume == OnResume::fixed);
}

}  // namespace
}  // namespace runner::testing
