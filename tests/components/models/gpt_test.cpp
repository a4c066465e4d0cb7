#include <torch/types.h>
#include <torch/utils.h>

#include <catch2/catch_all.hpp>

#include "components/models/language_model.hpp"
#include "components/models/weights/load_weights.hpp"
#include "components/weights/safetensors.hpp"
#include "tests/support/parts.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace runner;
using namespace runner::testing;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinAbs;

namespace {

ModelInputs windows(std::int64_t length, std::int64_t vocabulary) {
  return {.data = {.input_shape = {length},
                   .input_type = torch::kInt64,
                   .target_shape = {length},
                   .vocabulary = vocabulary}};
}

const Settings tiny{{"layers", 2}, {"heads", 2}, {"width", 8}};

Settings with(Settings settings, const Settings& more) {
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

std::unique_ptr<Model> gpt(const Settings& settings = tiny) {
  torch::manual_seed(1);
  return part<ModelKind>("gpt", settings).build(windows(6, 11));
}

torch::Tensor tokens(std::int64_t examples = 3, std::int64_t length = 6) {
  return torch::randint(0, 11, {examples, length}, torch::kInt64);
}

double spread(const Model& model, const std::string& name) {
  return model.named_parameters()[name].std().item<double>();
}

using Tensors = std::vector<std::pair<std::string, torch::Tensor>>;

Tensors weights_of(const Model& model) {
  Tensors all;
  for (const auto& item : model.named_parameters()) {
    all.emplace_back(item.key(), item.value().detach() + 0.5 * torch::rand_like(item.value()));
  }
  return all;
}

void load(Model& model, const Tensors& tensors) {
  const TemporaryFolder folder;
  write_safetensors(folder / "weights.safetensors", tensors);
  load_weights(model, folder / "weights.safetensors", {});
}

}  // namespace

TEST_CASE("gpt: names, shapes and size are those of GPT-2, the tied head counts once") {
  const auto model = gpt();
  const auto parameters = model->named_parameters();
  CHECK(parameters["transformer.h.1.attn.c_attn.weight"].sizes() == torch::IntArrayRef{8, 24});
  CHECK(parameters["transformer.h.1.mlp.c_fc.weight"].sizes() == torch::IntArrayRef{8, 32});
  CHECK(parameters["transformer.wpe.weight"].sizes() == torch::IntArrayRef{6, 8});
  CHECK_FALSE(parameters.contains("lm_head.weight"));
  CHECK(gpt(with(tiny, {{"tied", false}}))->named_parameters().contains("lm_head.weight"));

  std::int64_t count = 0;
  const auto small = part<ModelKind>("gpt").build(windows(1024, 50257));
  for (const auto& parameter : small->parameters()) count += parameter.numel();
  CHECK(count == 124'439'808);
}

TEST_CASE("gpt: begins as GPT-2 does") {
  const auto model = gpt({{"layers", 8}, {"heads", 4}, {"width", 128}});
  CHECK_THAT(spread(*model, "transformer.wte.weight"), WithinAbs(0.02, 0.002));
  CHECK_THAT(spread(*model, "transformer.h.3.attn.c_attn.weight"), WithinAbs(0.02, 0.001));
  CHECK_THAT(spread(*model, "transformer.h.3.attn.c_proj.weight"), WithinAbs(0.005, 0.0003));
  CHECK_THAT(spread(*model, "transformer.h.3.mlp.c_proj.weight"), WithinAbs(0.005, 0.0003));
  for (const auto& item : model->named_parameters()) {
    if (item.key().ends_with("bias")) CHECK(item.value().abs().sum().item<float>() == 0);
  }
}

TEST_CASE("gpt: logits for every position, none of which knows what follows") {
  const auto model = gpt(with(tiny, {{"bias", GENERATE(true, false)}}));
  const auto x = tokens();
  const auto output = model->forward({.input = x});
  CHECK(output.sizes() == torch::IntArrayRef{3, 6, 11});
  output.square().sum().backward();
  for (const auto& item : model->named_parameters()) {
    INFO(item.key());
    CHECK(item.value().grad().abs().sum().item<float>() > 0);
  }
  auto changed = x.clone();
  changed.select(1, 4).add_(1).remainder_(11);
  const auto other = model->forward({.input = changed});
  CHECK(torch::allclose(other.narrow(1, 0, 4), output.narrow(1, 0, 4)));
  CHECK_FALSE(torch::allclose(other.narrow(1, 4, 1), output.narrow(1, 4, 1)));
}

TEST_CASE("gpt: without bias there is none, in the normalisations neither") {
  for (const auto& item : gpt(with(tiny, {{"bias", false}}))->named_parameters()) {
    INFO(item.key());
    CHECK(item.key().ends_with("weight"));
  }
}

TEST_CASE("gpt: dropout acts in training only") {
  const auto model = gpt(with(tiny, {{"dropout", 0.5}}));
  const auto x = tokens();
  CHECK_FALSE(torch::equal(model->forward({.input = x}), model->forward({.input = x})));
  model->eval();
  CHECK(torch::equal(model->forward({.input = x}), model->forward({.input = x})));
}

TEST_CASE("gpt: a cache takes no more tokens than the context") {
  const auto model = gpt();
  model->eval();
  const torch::NoGradGuard no_grad;
  auto& language = dynamic_cast<LanguageModel&>(*model);
  const auto x = tokens();
  KvCache cache;
  language.next(x, cache);
  CHECK(cache.length == 6);
  CHECK_THROWS_WITH(language.next(x.narrow(1, 0, 1), cache), ContainsSubstring("context of 6"));
}

TEST_CASE("gpt: files of other programs") {
  const auto model = gpt();
  const Tensors own = weights_of(*model);
  Tensors file = own;
  const auto embedding = own.front().second;
  REQUIRE(own.front().first == "transformer.wte.weight");
  const auto check_loads = [&] {
    const auto loaded = gpt();
    {
      const torch::NoGradGuard no_grad;
      for (torch::Tensor& parameter : loaded->parameters()) parameter.zero_();
    }
    load(*loaded, file);
    for (const auto& [name, tensor] : own) {
      INFO(name);
      CHECK(torch::equal(loaded->named_parameters()[name], tensor));
    }
  };

  SECTION("as they are") { check_loads(); }
  SECTION("the tied head written too") {
    file.emplace_back("lm_head.weight", embedding.clone());
    check_loads();
  }
  SECTION("GPT2Model, and the causal masks of old files") {
    for (auto& [name, tensor] : file) name = name.substr(std::string("transformer.").size());
    file.emplace_back("h.0.attn.bias", torch::ones({1, 1, 6, 6}));
    file.emplace_back("h.0.attn.masked_bias", torch::ones({}));
    check_loads();
  }
  SECTION("nanoGPT's linear layers, compiled") {
    for (auto& [name, tensor] : file) {
      if (name.find(".c_") != std::string::npos && tensor.dim() == 2) tensor = tensor.t().contiguous();
      name = "_orig_mod." + name;
    }
    check_loads();
  }
}

TEST_CASE("gpt: a head of its own in the file needs one in the model") {
  Tensors file = weights_of(*gpt());
  file.emplace_back("lm_head.weight", torch::rand({11, 8}));
  CHECK_THROWS_WITH(load(*gpt(), file), ContainsSubstring("model.tied = false"));
  const auto untied = gpt(with(tiny, {{"tied", false}}));
  load(*untied, file);
  CHECK(torch::equal(untied->named_parameters()["lm_head.weight"], file.back().second));
  file.pop_back();
  load(*untied, file);
  CHECK(torch::equal(untied->named_parameters()["lm_head.weight"], file.front().second));
}

TEST_CASE("gpt: what does not fit is refused") {
  const auto build = [](const Settings& settings, const ModelInputs& inputs) {
    return part<ModelKind>("gpt", settings).build(inputs);
  };
  CHECK_THROWS_WITH(part<ModelKind>("gpt", {{"width", 10}, {"heads", 4}}),
                    ContainsSubstring("multiple of heads"));
  CHECK_THROWS_WITH(build(tiny, {.data = {.input_shape = {3, 32, 32}, .classes = 10}}),
                    ContainsSubstring("needs tokens"));
  CHECK_THROWS_WITH(build(with(tiny, {{"vocabulary", 10}}), windows(6, 11)),
                    ContainsSubstring("vocabulary is 10") && ContainsSubstring("11 tokens"));
  CHECK_THROWS_WITH(build(with(tiny, {{"context", 5}}), windows(6, 11)),
                    ContainsSubstring("6 tokens do not fit into a context of 5"));
  CHECK_THROWS_WITH(build(tiny, windows(-1, 11)), ContainsSubstring("give context"));
  CHECK_NOTHROW(build(with(tiny, {{"vocabulary", 16}, {"context", 8}}), windows(6, 11)));
}
