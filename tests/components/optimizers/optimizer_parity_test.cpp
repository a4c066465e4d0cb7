// Every optimizer against torch.optim, or its paper: tests/parity/optimizers_reference.py made the numbers.
#include <torch/types.h>

#include <catch2/catch_all.hpp>

#include "components/optimizers/groups.hpp"
#include "tests/support/parts.hpp"
#include "tests/support/reference_numbers.hpp"
#include "tests/support/wave.hpp"

namespace runner::testing {
namespace {

constexpr int updates = 12;

struct Case {
  std::string name;
  std::string optimizer;
  Settings settings;
  bool sparse = false;  // fc.bias has a gradient only at every third update
};

Setting fc_group() {
  return Setting::list({Setting::table({{"match", "fc.*"}, {"lr_multiplier", 0.5}, {"weight_decay", 0.2}})});
}

Settings with_group(Settings settings) {
  settings.emplace_back("group", fc_group());
  return settings;
}

std::vector<Case> more_cases() {
  const auto betas = Setting::list({0.8, 0.95});
  const Settings lion{{"lr", 0.01}, {"weight_decay", 0.1}};
  const Settings lamb{{"lr", 0.01}, {"weight_decay", 0.1}};
  const Settings lars{{"lr", 0.5}, {"weight_decay", 0.05}, {"trust_coefficient", 0.02}};
  const auto except_vectors = [](Settings settings) {
    settings.emplace_back("adapt_biases_and_norms", false);
    return with_group(settings);
  };
  const auto muon = [&](Settings settings) {
    for (const auto& [key, value] : Settings{{"adamw_lr", 0.01},
                                             {"adamw_betas", betas},
                                             {"adamw_eps", 1e-6},
                                             {"adamw_weight_decay", 0.2},
                                             {"adamw_for", Setting::list({})},
                                             {"lr", 0.02}})
      settings.emplace_back(key, value);
    return settings;
  };
  return {
      {"adagrad", "adagrad", {{"lr", 0.1}}},
      {"adagrad_everything",
       "adagrad",
       {{"lr", 0.1},
        {"lr_decay", 0.1},
        {"weight_decay", 0.05},
        {"initial_accumulator_value", 0.3},
        {"eps", 1e-6}}},
      {"adagrad_groups", "adagrad", with_group({{"lr", 0.1}})},
      {"adagrad_sparse", "adagrad", {{"lr", 0.1}, {"lr_decay", 0.2}}, true},
      {"rmsprop", "rmsprop", {{"lr", 0.01}}},
      {"rmsprop_momentum",
       "rmsprop",
       {{"lr", 0.01}, {"momentum", 0.9}, {"weight_decay", 0.05}, {"alpha", 0.9}}},
      {"rmsprop_centered", "rmsprop", {{"lr", 0.01}, {"centered", true}, {"eps", 1e-6}}},
      {"rmsprop_everything", "rmsprop",
       with_group({{"lr", 0.01}, {"centered", true}, {"momentum", 0.8}, {"weight_decay", 0.05}})},
      {"rmsprop_sparse", "rmsprop", {{"lr", 0.01}, {"centered", true}, {"momentum", 0.8}}, true},
      {"adadelta", "adadelta", {{"lr", 1.0}}},
      {"adadelta_groups", "adadelta",
       with_group({{"lr", 0.5}, {"rho", 0.8}, {"eps", 1e-4}, {"weight_decay", 0.05}})},
      {"adadelta_sparse", "adadelta", {{"lr", 1.0}}, true},
      {"nadam", "nadam", {{"lr", 0.01}}},
      {"nadam_decay", "nadam",
       with_group(
           {{"lr", 0.01}, {"betas", betas}, {"eps", 1e-6}, {"weight_decay", 0.1}, {"momentum_decay", 0.1}})},
      {"nadam_decoupled", "nadam", {{"lr", 0.01}, {"weight_decay", 0.1}, {"decoupled_weight_decay", true}}},
      {"nadam_sparse", "nadam", {{"lr", 0.01}}, true},
      {"adafactor", "adafactor", {{"lr", 0.1}}},
      {"adafactor_everything", "adafactor",
       with_group({{"lr", 0.1},
                   {"beta2_decay", -0.5},
                   {"eps1", 1e-3},
                   {"eps2", 1e-1},
                   {"d", 1.5},
                   {"weight_decay", 0.05}})},
      {"adafactor_sparse", "adafactor", {{"lr", 0.1}}, true},
      {"lion", "lion", lion},
      {"lion_groups", "lion", with_group(lion)},
      {"lion_sparse", "lion", {{"lr", 0.01}, {"weight_decay", 0.1}, {"betas", betas}}, true},
      {"lamb", "lamb", lamb},
      {"lamb_groups", "lamb", except_vectors(lamb)},
      {"lamb_sparse", "lamb", lamb, true},
      {"lars", "lars", lars},
      {"lars_groups", "lars", except_vectors(lars)},
      {"lars_sparse", "lars", lars, true},
      {"muon", "muon", muon({})},
      {"muon_everything", "muon",
       muon({{"weight_decay", 0.05},
             {"momentum", 0.8},
             {"nesterov", false},
             {"ns_steps", 3},
             {"ns_coefficients", Setting::list({2.0, -1.5, 0.5})},
             {"adjust_lr", "match_rms_adamw"}})},
      {"muon_sparse", "muon", muon({}), true},
  };
}

std::vector<Case> cases() {
  const auto betas = Setting::list({0.8, 0.95});
  std::vector<Case> all{
      {"sgd", "sgd", {{"lr", 0.1}, {"momentum", 0.0}}},
      {"sgd_momentum", "sgd", {{"lr", 0.1}, {"momentum", 0.9}}},
      {"sgd_dampening", "sgd", {{"lr", 0.1}, {"momentum", 0.9}, {"dampening", 0.3}, {"weight_decay", 0.05}}},
      {"sgd_nesterov", "sgd", {{"lr", 0.1}, {"momentum", 0.9}, {"nesterov", true}, {"weight_decay", 0.05}}},
      {"sgd_groups", "sgd", {{"lr", 0.1}, {"momentum", 0.9}, {"weight_decay", 0.05}, {"group", fc_group()}}},
      {"sgd_spared",
       "sgd",
       {{"lr", 0.1}, {"momentum", 0.9}, {"weight_decay", 0.05}, {"decay_biases_and_norms", false}}},
      {"sgd_sparse", "sgd", {{"lr", 0.1}, {"momentum", 0.9}, {"dampening", 0.3}}, true},
      {"adam", "adam", {{"lr", 0.01}}},
      {"adam_decay", "adam", {{"lr", 0.01}, {"betas", betas}, {"eps", 1e-6}, {"weight_decay", 0.1}}},
      {"adam_amsgrad", "adam", {{"lr", 0.01}, {"amsgrad", true}, {"weight_decay", 0.1}}},
      {"adam_groups", "adam", {{"lr", 0.01}, {"group", fc_group()}}},
      {"adam_sparse", "adam", {{"lr", 0.01}}, true},
      {"adamw", "adamw", {{"lr", 0.01}}},
      {"adamw_amsgrad", "adamw", {{"lr", 0.01}, {"amsgrad", true}, {"weight_decay", 0.1}}},
      {"adamw_groups", "adamw", {{"lr", 0.01}, {"weight_decay", 0.1}, {"group", fc_group()}}},
      {"adamw_spared", "adamw", {{"lr", 0.01}, {"weight_decay", 0.1}, {"decay_biases_and_norms", false}}},
  };
  for (Case& one : more_cases()) all.push_back(std::move(one));
  return all;
}

torch::OrderedDict<std::string, torch::Tensor> parameters() {
  torch::OrderedDict<std::string, torch::Tensor> named;
  named.insert("fc.weight", wave({3, 4}, 0.1).requires_grad_());
  named.insert("fc.bias", wave({3}, 0.2).requires_grad_());
  named.insert("norm.weight", wave({4}, 0.3).requires_grad_());
  return named;
}

// How the engine leaves gradients between updates, which must not matter.
enum class Clearing { to_none, in_place };

void set_gradients(torch::OrderedDict<std::string, torch::Tensor>& named, int step, bool sparse,
                   Clearing clearing) {
  int index = 0;
  for (auto& entry : named) {
    const torch::Tensor gradient = wave(entry.value().sizes().vec(), 1.0 + 0.9 * step + 2.0 * index);
    torch::Tensor& held = entry.value().mutable_grad();
    if (sparse && index == 1 && step % 3 != 1) {
      held = torch::Tensor{};
    } else if (clearing == Clearing::in_place && held.defined()) {
      held.copy_(gradient);
    } else {
      held = gradient;
    }
    ++index;
  }
}

void require_equal(const torch::OrderedDict<std::string, torch::Tensor>& named,
                   const std::vector<double>& expected) {
  std::vector<torch::Tensor> flat;
  for (const auto& entry : named) flat.push_back(entry.value().detach().flatten());
  const torch::Tensor all = torch::cat(flat).to(torch::kFloat64);
  const torch::Tensor reference = torch::tensor(expected, torch::kFloat64);
  INFO("ours\n" << all << "\nexpected\n" << reference);
  REQUIRE(torch::allclose(all, reference, 1e-6, 1e-6));
}

TEST_CASE("every optimizer makes the same updates as torch.optim, or its paper", "[optimizers]") {
  const ReferenceNumbers reference("optimizers.txt");
  const Clearing clearing = GENERATE(Clearing::to_none, Clearing::in_place);
  for (const Case& one : cases()) {
    DYNAMIC_SECTION(
        one.name << (clearing == Clearing::to_none ? ", new gradients" : ", gradients in place")) {
      auto named = parameters();
      const auto part = testing::part<OptimizerKind>(one.optimizer, one.settings);
      const auto optimizer = part.build({make_groups(named, part.common)});
      for (int step = 0; step < updates; ++step) {
        set_gradients(named, step, one.sparse, clearing);
        optimizer->step(1 / (1 + 0.1 * step));
        if (step == 0) require_equal(named, reference[one.name + ".first"]);
      }
      require_equal(named, reference[one.name + ".last"]);
    }
  }
}

TEST_CASE("an optimizer carries on from its saved state, whatever the groups", "[optimizers]") {
  const ReferenceNumbers reference("optimizers.txt");
  for (const std::string name :
       {"sgd_momentum", "sgd_sparse", "adam_amsgrad", "adam_sparse", "adamw_amsgrad", "adagrad_sparse",
        "adagrad_everything", "rmsprop_sparse", "adadelta_sparse", "nadam_sparse", "adafactor_sparse",
        "lion_sparse", "lamb_sparse", "lars_sparse", "muon_sparse"}) {
    DYNAMIC_SECTION(name) {
      const auto all = cases();
      const Case one = *std::ranges::find(all, name, &Case::name);
      const auto part = testing::part<OptimizerKind>(one.optimizer, one.settings);
      auto named = parameters();
      auto optimizer = part.build({make_groups(named, part.common)});
      for (int step = 0; step < updates; ++step) {
        if (step == 2 || step == 7) {  // one group after the other, each with one parameter
          const State state = optimizer->save().copy();
          std::vector<ParameterGroup> groups;
          for (auto& entry : named) groups.push_back({{entry.key()}, {entry.value()}});
          std::ranges::reverse(groups);
          optimizer = part.build({groups});
          optimizer->load(state);
        }
        set_gradients(named, step, one.sparse, Clearing::to_none);
        optimizer->step(1 / (1 + 0.1 * step));
      }
      require_equal(named, reference[name + ".last"]);
    }
  }
}

}  // namespace
}  // namespace runner::testing
