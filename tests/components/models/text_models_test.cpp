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

namespace {

const DataSpec windows{
    .input_shape = {6}, .input_type = torch::kInt64, .target_shape = {6}, .classes = 11, .vocabulary = 11};
const DataSpec sentences{.input_shape = {6}, .input_type = torch::kInt64, .classes = 3, .vocabulary = 11};

std::unique_ptr<Model> build(const std::string& name, const DataSpec& data, Settings settings = {}) {
  torch::manual_seed(1);
  return part<ModelKind>(name, settings).build({data});
}

const Settings tiny{{"layers", 2}, {"heads", 2}, {"width", 8}};

Settings with(Settings settings, const Settings& more) {
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

std::int64_t parameter_count(const Model& model) {
  std::int64_t count = 0;
  for (const auto& parameter : model.parameters()) count += parameter.numel();
  return count;
}

torch::Tensor tokens(std::int64_t examples = 3) {
  return torch::randint(0, 11, {examples, 6}, torch::kInt64);
}

void check_gradients(Model& model, const torch::Tensor& output) {
  output.square().sum().backward();
  for (const auto& item : model.named_parameters()) {
    INFO(item.key());
    CHECK(item.value().grad().defined());
  }
}

void load(Model& model, const std::vector<std::pair<std::string, torch::Tensor>>& tensors) {
  const TemporaryFolder folder;
  write_safetensors(folder / "weights.safetensors", tensors);
  load_weights(model, folder / "weights.safetensors", {});
}

std::vector<std::pair<std::string, torch::Tensor>> weights_of(const Model& model) {
  std::vector<std::pair<std::string, torch::Tensor>> all;
  for (const auto& item : model.named_parameters())
    all.emplace_back(item.key(), torch::rand_like(item.value()));
  return all;
}

}  // namespace

TEST_CASE("language models: logits for every position, which no later token changes") {
  const auto [name, settings] =
      GENERATE(table<std::string, Settings>({{"gpt", tiny},
                                             {"llama", tiny},
                                             {"llama", with(tiny, {{"key_heads", 1}, {"tied", true}})},
                                             {"lstm", {}}}));
  CAPTURE(name);
  const auto model = build(name, windows, settings);
  const auto x = tokens();
  const auto output = model->forward({.input = x});
  REQUIRE(output.sizes() == torch::IntArrayRef{3, 6, 11});
  check_gradients(*model, output);
  auto changed = x.clone();
  changed.select(1, 4).add_(1).remainder_(11);
  const auto other = model->forward({.input = changed});
  CHECK(torch::allclose(other.narrow(1, 0, 4), output.narrow(1, 0, 4), 1e-5, 1e-6));
  CHECK_FALSE(torch::allclose(other.select(1, 4), output.select(1, 4)));
}

TEST_CASE("language models: with a cache they compute what they compute without") {
  const auto [name, settings] = GENERATE(table<std::string, Settings>(
      {{"gpt", tiny}, {"llama", with(tiny, {{"key_heads", 1}})}, {"lstm", {{"layers", 2}}}}));
  CAPTURE(name);
  const auto model = build(name, windows, settings);
  model->eval();
  const torch::NoGradGuard no_grad;
  auto& language = dynamic_cast<LanguageModel&>(*model);
  CHECK(language.vocabulary() == 11);
  const auto x = tokens();
  const auto whole = model->forward({.input = x});
  for (const auto& cuts : {std::vector<std::int64_t>{1, 1, 1, 1, 1, 1}, {3, 1, 2}, {2, 4}, {6}}) {
    KvCache cache;
    for (const std::int64_t count : cuts) {
      const auto logits = language.next(x.narrow(1, cache.length, count), cache);
      CHECK(torch::allclose(logits, whole.select(1, cache.length - 1), 1e-4, 1e-6));
    }
    CHECK(cache.length == 6);
  }
}

TEST_CASE("llama: sizes, names and files") {
  // By hand: 11 tokens of 8 numbers, twice; per layer 2 * 64 for queries and output, 2 * 32 for one of two
  // heads of keys and values, 3 * 8 * 20 for the mlp and 16 for the norms; 8 for the last norm.
  const Settings settings = with(tiny, {{"key_heads", 1}, {"hidden", 20}});
  CHECK(parameter_count(*build("llama", windows, settings)) == 2 * 88 + 2 * (128 + 64 + 480 + 16) + 8);
  const auto model = build("llama", windows, settings);
  auto file = weights_of(*model);
  file.emplace_back("model.layers.0.self_attn.rotary_emb.inv_freq", torch::rand({2}));
  load(*model, file);
  CHECK(torch::equal(model->parameters()[3], file[3].second));
  const auto tied = build("llama", windows, with(settings, {{"tied", true}}));
  CHECK_FALSE(tied->named_parameters().contains("lm_head.weight"));
  CHECK_THROWS_WITH(load(*tied, file), ContainsSubstring("model.tied = false"));
  for (auto& [name, tensor] : file) {
    if (name.starts_with("model.")) name = name.substr(6);
    if (name == "lm_head.weight") tensor = file[0].second.clone();
  }
  load(*tied, file);
  CHECK(torch::equal(tied->named_parameters()["model.embed_tokens.weight"], file[0].second));
  CHECK_THROWS_WITH(part<ModelKind>("llama", {{"width", 12}, {"heads", 4}}),
                    ContainsSubstring("even multiple"));
  CHECK_THROWS_WITH(part<ModelKind>("llama", {{"key_heads", 5}}), ContainsSubstring("must divide heads"));
}

TEST_CASE("llama: settings of another type of rope scaling are refused") {
  const auto refused = [](const Setting& scaling, const std::string& why) {
    CHECK_THROWS_WITH(part<ModelKind>("llama", {{"rope_scaling", scaling}}), ContainsSubstring(why));
  };
  refused(Setting::table({{"type", "linear"}, {"factor", 2.0}, {"original_context", 64}}),
          "\"original_context\" has no effect if type is \"linear\"");
  refused(Setting::table({{"type", "linear"}, {"factor", 2.0}, {"low_freq_factor", 2.0}}),
          "\"low_freq_factor\" has no effect unless type is \"llama3\"");
  refused(Setting::table(
              {{"type", "dynamic"}, {"factor", 2.0}, {"original_context", 64}, {"high_freq_factor", 5.0}}),
          "\"high_freq_factor\" has no effect unless type is \"llama3\"");
}

TEST_CASE("text classifiers: one row of outputs a text, which padding does not change") {
  const auto [name, settings] =
      GENERATE(table<std::string, Settings>({{"bert", tiny},
                                             {"lstm", {}},
                                             {"lstm", {{"bidirectional", true}, {"layers", 2}}},
                                             {"text_mean", {}},
                                             {"text_mean", {{"hidden", 5}}}}));
  CAPTURE(name);
  const auto model = build(name, sentences, settings);
  const auto x = tokens();
  const auto output = model->forward({.input = x});
  REQUIRE(output.sizes() == torch::IntArrayRef{3, 3});
  check_gradients(*model, output);
  model->eval();
  auto mask = torch::ones({3, 6}, torch::kBool);
  CHECK(torch::allclose(model->forward({.input = x, .extra = {{"mask", mask}}}), model->forward({.input = x}),
                        1e-4, 1e-6));
  mask.narrow(1, 4, 2).fill_(false);
  auto other_padding = x.clone();
  other_padding.narrow(1, 4, 2).add_(1).remainder_(11);
  const auto short_text = model->forward({.input = x, .extra = {{"mask", mask}}});
  CHECK(torch::allclose(model->forward({.input = other_padding, .extra = {{"mask", mask}}}), short_text, 1e-5,
                        1e-6));
  CHECK_FALSE(torch::allclose(model->forward({.input = other_padding}), model->forward({.input = x})));
  // A text of nothing but padding is no reason to fail.
  const auto nothing = model->forward({.input = x, .extra = {{"mask", torch::zeros({3, 6}, torch::kBool)}}});
  CHECK(nothing.isfinite().all().item<bool>());
}

TEST_CASE("bert: size and old files") {
  const DataSpec data{.input_shape = {512}, .input_type = torch::kInt64, .classes = 2, .vocabulary = 30522};
  CHECK(parameter_count(*build("bert", data)) == 109'483'778);

  const auto model = build("bert", sentences, tiny);
  auto file = weights_of(*model);
  const auto expected = file;
  for (auto& [name, tensor] : file) {
    if (name.starts_with("bert.")) name = name.substr(5);
    if (name.ends_with("LayerNorm.weight")) name.replace(name.size() - 6, 6, "gamma");
    if (name.ends_with("LayerNorm.bias")) name.replace(name.size() - 4, 4, "beta");
  }
  file.emplace_back("embeddings.position_ids", torch::arange(6));
  load(*model, file);
  for (const auto& [name, tensor] : expected) CHECK(torch::equal(model->named_parameters()[name], tensor));
}

TEST_CASE("bert: the padding token is not trained where it is named") {
  const auto model = build("bert", sentences, with(tiny, {{"padding", 0}}));
  const auto words = model->named_parameters()["bert.embeddings.word_embeddings.weight"];
  CHECK(words[0].abs().sum().item<float>() == 0);
  model->forward({.input = torch::zeros({2, 6}, torch::kInt64)}).square().sum().backward();
  CHECK(words.grad().abs().sum().item<float>() == 0);
  CHECK_THROWS_WITH(build("bert", sentences, with(tiny, {{"padding", 11}})), ContainsSubstring("below 11"));
}

TEST_CASE("lstm: a language model does not read backwards") {
  CHECK_THROWS_WITH(build("lstm", windows, {{"bidirectional", true}}),
                    ContainsSubstring("have read already"));
  CHECK_THROWS_WITH(part<ModelKind>("lstm", {{"predict", "token"}, {"bidirectional", true}}),
                    ContainsSubstring("bidirectional"));
  CHECK(dynamic_cast<LanguageModel*>(build("lstm", sentences, {{"predict", "token"}}).get()));
  CHECK_FALSE(dynamic_cast<LanguageModel*>(build("lstm", windows, {{"predict", "class"}}).get()));
}

TEST_CASE("lstm: a language model has as many outputs as tokens") {
  CHECK_THROWS_WITH(build("lstm", windows, {{"num_classes", 5}}),
                    ContainsSubstring("num_classes is 5") && ContainsSubstring("11 tokens"));
  CHECK_NOTHROW(build("lstm", windows, {{"num_classes", 11}}));
}

TEST_CASE("tabular: categories beside numbers") {
  const DataSpec rows{.input_shape = {4}, .classes = 2, .categories = {3, 200}};
  const auto model =
      build("tabular", rows, {{"hidden", Setting::list({7})}, {"batch_norm", GENERATE(true, false)}});
  const auto parameters = model->named_parameters();
  CHECK(parameters["embeddings.0.weight"].sizes() == torch::IntArrayRef{3, 2});
  CHECK(parameters["embeddings.1.weight"].sizes() == torch::IntArrayRef{200, 50});
  CHECK(parameters["fc1.weight"].sizes() == torch::IntArrayRef{7, 4 + 2 + 50});
  const auto numbers = torch::rand({5, 4});
  const auto categories = torch::tensor({{0, 5}, {1, 199}, {2, 0}, {0, 6}, {0, 5}}, torch::kInt64);
  const auto output = model->forward({.input = numbers, .extra = {{"categories", categories}}});
  CHECK(output.sizes() == torch::IntArrayRef{5, 2});
  check_gradients(*model, output);
  model->eval();
  const auto at = [&](std::int64_t value) {
    auto changed = categories.clone();
    changed[0][1] = value;
    return model->forward({.input = numbers, .extra = {{"categories", changed}}})[0];
  };
  CHECK_FALSE(torch::allclose(at(5), at(6)));
  CHECK_THROWS_WITH(model->forward({.input = numbers}), ContainsSubstring("\"categories\""));
}

TEST_CASE("tabular: numbers alone, categories alone, or nothing") {
  const auto only_numbers = build("tabular", {.input_shape = {4}, .classes = 2});
  CHECK(only_numbers->forward({.input = torch::rand({5, 4})}).sizes() == torch::IntArrayRef{5, 2});
  const auto only_categories = build("tabular", {.input_shape = {0}, .classes = 2, .categories = {3}});
  const Batch batch{.input = torch::rand({5, 0}),
                    .extra = {{"categories", torch::ones({5, 1}, torch::kInt64)}}};
  CHECK(only_categories->forward(batch).sizes() == torch::IntArrayRef{5, 2});
  CHECK_THROWS_WITH(build("tabular", {.input_shape = {0}, .classes = 2}),
                    ContainsSubstring("neither numbers"));
  CHECK_THROWS_WITH(build("tabular", {.input_shape = {3, 8, 8}, .classes = 2}), ContainsSubstring("rows"));
}

TEST_CASE("transformer: each position sees the targets before it, or its own answers") {
  const DataSpec pairs{
      .input_shape = {6}, .input_type = torch::kInt64, .target_shape = {4}, .vocabulary = 11};
  const auto model = build("transformer", pairs, with(tiny, {{"decoder_layers", 1}}));
  const auto x = tokens(), target = torch::randint(0, 11, {3, 4}, torch::kInt64);
  const auto output = model->forward({.input = x, .target = target});
  REQUIRE(output.sizes() == torch::IntArrayRef{3, 4, 11});
  check_gradients(*model, output);
  model->eval();
  const auto logits = model->forward({.input = x, .target = target});
  auto changed = target.clone();
  changed.select(1, 1).add_(1).remainder_(11);
  const auto other = model->forward({.input = x, .target = changed});
  CHECK(torch::allclose(other.narrow(1, 0, 2), logits.narrow(1, 0, 2), 1e-5, 1e-6));
  CHECK_FALSE(torch::allclose(other.select(1, 2), logits.select(1, 2)));

  const auto answer = model->forward({.input = x}).argmax(-1);
  CHECK(torch::equal(model->forward({.input = x, .target = answer}).argmax(-1), answer));
  auto ignored = target.clone();
  ignored.select(1, 3).fill_(-100);
  CHECK(torch::allclose(model->forward({.input = x, .target = ignored}), logits, 1e-5, 1e-6));
  CHECK_THROWS_WITH(build("transformer", sentences, tiny), ContainsSubstring("targets"));
}
