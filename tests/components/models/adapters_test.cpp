// Every registered adapter, in a model of every layout.
#include <torch/types.h>
#include <torch/utils.h>

#include <catch2/catch_all.hpp>
#include <nlohmann/json.hpp>

#include "components/models/weights/adapt_model.hpp"
#include "components/models/weights/model_weights.hpp"
#include "components/models/weights/peft_folder.hpp"
#include "components/torch/meta_mode.hpp"
#include "tests/support/parts.hpp"
#include "tests/support/temporary_folder.hpp"

namespace runner {
namespace {

using Catch::Matchers::ContainsSubstring;
using testing::part;
using testing::Setting;
using testing::Settings;

std::unique_ptr<Model> model_named(const std::string& name) {
  DataSpec data;
  data.input_shape = data.target_shape = {6};
  data.input_type = data.target_type = torch::kInt64;
  data.vocabulary = data.classes = 11;
  return part<ModelKind>(name, {{"layers", 2}, {"heads", 2}, {"width", 8}}).build({data});
}

std::vector<std::string> adapters() { return Registry::of_linked().names("adapter"); }

torch::Tensor output_of(Model& model) {
  model.eval();
  return model.forward({.input = torch::arange(12).reshape({2, 6}).remainder(11)});
}

void disturb(Model& model) {
  const torch::NoGradGuard no_grad;
  for (auto& item : model.named_parameters())
    if (item.value().requires_grad()) item.value().add_(torch::randn_like(item.value()), 0.1);
}

TEST_CASE("adapters: a fresh one changes nothing, and nothing else is trained", "[adapters]") {
  for (const std::string& name : adapters())
    for (const char* of : {"gpt", "llama", "bert"}) {
      CAPTURE(name, of);
      torch::manual_seed(1);
      const auto model = model_named(of);
      const torch::Tensor before = output_of(*model);
      std::set<std::string> own;
      for (const auto& item : model->named_parameters()) own.insert(item.key());
      adapt_sketch(*model, part<AdapterKind>(name));
      CHECK(torch::allclose(output_of(*model), before));
      CHECK(model->adaptation->base == own);
      for (const auto& item : model->named_parameters())
        CHECK(item.value().requires_grad() == !own.contains(item.key()));
      output_of(*model).sum().backward();
      for (const auto& item : model->named_parameters())
        CHECK(item.value().grad().defined() == !own.contains(item.key()));
      const State saved = ModelWeights(*model).save();
      for (const auto& [tensor, value] : saved.tensors) CHECK(!own.contains(tensor));
      CHECK(!saved.tensors.empty());
    }
}

TEST_CASE("adapters: merged weights give the same outputs", "[adapters]") {
  std::vector<std::pair<std::string, Settings>> cases;
  for (const std::string& name : adapters()) cases.emplace_back(name, Settings{});
  cases.emplace_back("lora", Settings{{"dora", true}});
  cases.emplace_back("lora", Settings{{"rslora", true}, {"rank", 3}});
  for (const auto& [name, settings] : cases)
    for (const char* of : {"gpt", "llama", "bert"}) {
      CAPTURE(name, of);
      const auto model = model_named(of);
      adapt_sketch(*model, part<AdapterKind>(name, settings));
      disturb(*model);
      const torch::Tensor adapted = output_of(*model);
      const torch::NoGradGuard no_grad;
      for (const auto& module : model->modules(/*include_self=*/false))
        if (auto* layer = module->as<LinearImpl>(); layer && layer->adapter()) {
          const torch::Tensor merged = layer->adapter()->merged(*layer);
          layer->weight.copy_(layer->in_out() ? merged.t() : merged);
          layer->adapt(nullptr);
        }
      CHECK(torch::allclose(output_of(*model), adapted, 1e-4, 1e-5));
    }
}

TEST_CASE("adapters: a folder is read as it was written", "[adapters]") {
  for (const std::string& name : adapters()) {
    CAPTURE(name);
    const testing::TemporaryFolder folder;
    torch::manual_seed(1);
    const auto model = model_named("llama");
    adapt_sketch(*model, part<AdapterKind>(name, {{"modules_to_save", Setting::list({"lm_head"})}}));
    disturb(*model);
    write_peft_folder(folder / "adapter", *model->adaptation, ModelWeights(*model).all());
    torch::manual_seed(1);
    const auto again = model_named("llama");
    adapt_model(*again, part<AdapterKind>(name, {{"weights", (folder / "adapter").string()}}), "base");
    CHECK(torch::equal(output_of(*again), output_of(*model)));
    CHECK(again->adaptation->base == model->adaptation->base);
    CHECK(!again->adaptation->base_checksum.empty());
  }
}

TEST_CASE("adapters: targets and what they select", "[adapters]") {
  const auto layers_of = [](const Settings& settings) {
    const auto model = model_named("llama");
    adapt_sketch(*model, part<AdapterKind>("lora", settings));
    return model->adaptation->layers;
  };
  CHECK(layers_of({}) ==
        std::set<std::string>{"model.layers.0.self_attn.q_proj", "model.layers.0.self_attn.v_proj",
                              "model.layers.1.self_attn.q_proj", "model.layers.1.self_attn.v_proj"});
  CHECK(layers_of({{"targets", Setting::list({"1.mlp.*"})}, {"exclude", Setting::list({"up_proj"})}}) ==
        std::set<std::string>{"model.layers.1.mlp.gate_proj", "model.layers.1.mlp.down_proj"});
  CHECK_THROWS_WITH(layers_of({{"targets", Setting::list({"query"})}}),
                    ContainsSubstring("\"query\" selects no layer") &&
                        ContainsSubstring("model.layers.0.self_attn.q_proj"));
  CHECK_THROWS_WITH(layers_of({{"exclude", Setting::list({"*"})}}), ContainsSubstring("no layer is left"));
  CHECK_THROWS_WITH(layers_of({{"modules_to_save", Setting::list({"head"})}}),
                    ContainsSubstring("model.adapter.modules_to_save"));
}

TEST_CASE("adapters: a continued run has to have the same base", "[adapters]") {
  const auto with_seed = [](std::uint64_t seed) {
    torch::manual_seed(seed);
    auto model = model_named("llama");
    adapt_model(*model, part<AdapterKind>("lora"), "base");
    return model;
  };
  const auto model = with_seed(1), same = with_seed(1), other = with_seed(2);
  const State saved = ModelWeights(*model).save();
  CHECK_NOTHROW(ModelWeights(*same).load(saved));
  CHECK_THROWS_WITH(ModelWeights(*other).load(saved), ContainsSubstring("changed since"));
}

}  // namespace
}  // namespace runner
