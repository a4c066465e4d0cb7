#include "components/models/weights/load_weights.hpp"

#include <torch/types.h>

#include <catch2/catch_all.hpp>

#include "components/weights/safetensors.hpp"
#include "tests/support/parts.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace runner;
using namespace runner::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

using Tensors = std::vector<std::pair<std::string, torch::Tensor>>;

std::unique_ptr<Model> model_of(const std::string& name, std::int64_t classes,
                                const Settings& settings = {}) {
  return part<ModelKind>(name, settings).build({.data = {.input_shape = {3, 32, 32}, .classes = classes}});
}

Tensors tensors_of(const Model& model, const std::string& prefix = "") {
  Tensors all;
  for (const auto& item : model.named_parameters())
    all.emplace_back(prefix + item.key(), item.value().detach().clone());
  for (const auto& item : model.named_buffers()) all.emplace_back(prefix + item.key(), item.value().clone());
  return all;
}

void check_equal(const Tensors& a, const Tensors& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    INFO(a[i].first);
    CHECK(a[i].first == b[i].first);
    CHECK(torch::equal(a[i].second, b[i].second));
  }
}

// A trained-looking file: nothing in it has the value that a fresh model has.
Tensors other_values(const Model& model, const std::string& prefix = "") {
  Tensors all = tensors_of(model, prefix);
  for (auto& [name, tensor] : all) tensor.add_(3);
  return all;
}

}  // namespace

TEST_CASE("weights fill parameters and buffers, whatever the file is called") {
  const TemporaryFolder folder;
  const auto model = model_of("resnet20", 10);
  const Tensors wanted = other_values(*model);
  const std::string prefix = GENERATE("", "module.");
  write_safetensors(folder / "weights.bin", other_values(*model, prefix));

  const LoadSummary summary = load_weights(*model, folder / "weights.bin", {});
  CHECK(summary.format == "safetensors");
  CHECK(summary.loaded == wanted.size());
  check_equal(tensors_of(*model), wanted);
  for (const auto& parameter : model->parameters()) CHECK(parameter.requires_grad());
}

TEST_CASE("weights of another type are converted") {
  const TemporaryFolder folder;
  const auto model = model_of("mlp", 10);
  Tensors file = other_values(*model);
  for (auto& [name, tensor] : file) tensor = tensor.to(torch::kBFloat16);
  write_safetensors(folder / "w", file);
  load_weights(*model, folder / "w", {});
  for (auto& [name, tensor] : file) tensor = tensor.to(torch::kFloat32);
  check_equal(tensors_of(*model), file);
}

TEST_CASE("weights that do not fit are one error with everything in it, and the model stays as it was") {
  const TemporaryFolder folder;
  const auto model = model_of("simple_cnn", 10);
  const Tensors before = tensors_of(*model);
  Tensors file = other_values(*model_of("simple_cnn", 7));
  std::erase_if(file, [](const auto& entry) { return entry.first == "conv1.bias"; });
  file.emplace_back("extra.weight", torch::ones({2, 3}));
  write_safetensors(folder / "w", file);

  CHECK_THROWS_WITH(load_weights(*model, folder / "w", {}),
                    ContainsSubstring((folder / "w").string()) &&
                        ContainsSubstring("missing in the file (1):\n    conv1.bias [16]") &&
                        ContainsSubstring("not in the model (1):\n    extra.weight [2, 3]") &&
                        ContainsSubstring("of another shape (2):") &&
                        ContainsSubstring("fc2.weight: [7, 256] in the file, [10, 256] in the model") &&
                        ContainsSubstring("fc2.bias: [7] in the file, [10] in the model"));
  check_equal(tensors_of(*model), before);

  SECTION("strict = false loads the rest and says what it did not") {
    const LoadSummary summary = load_weights(*model, folder / "w", {.strict = false});
    CHECK(summary.loaded == 5);
    CHECK(summary.missing.size() == 1);
    CHECK(summary.unexpected.size() == 1);
    CHECK(summary.misshapen.size() == 2);
    CHECK_THAT(summary.text(), ContainsSubstring("5 tensors loaded") && ContainsSubstring("fc2.bias: [7]"));
    CHECK(torch::equal(model->named_parameters()["fc1.bias"], file[4].second));
    CHECK(torch::equal(model->named_parameters()["fc2.bias"], before[7].second));
  }
  SECTION("a file for another model altogether is an error even then") {
    CHECK_THROWS_WITH(
        load_weights(*model_of("mlp", 10, {{"hidden", Setting::list({5})}}), folder / "w", {.strict = false}),
        ContainsSubstring("Nothing in"));
  }
}

TEST_CASE("a very long list of differences is cut") {
  const TemporaryFolder folder;
  write_safetensors(folder / "w", {{"a", torch::ones({1})}});
  CHECK_THROWS_WITH(load_weights(*model_of("resnet56", 10), folder / "w", {}),
                    ContainsSubstring("more\n") && !ContainsSubstring("layer3.8"));
}

TEST_CASE("replace leaves parts as initialised, whatever the file has for them") {
  const TemporaryFolder folder;
  const auto model = model_of("resnet20", 7);
  const Tensors before = tensors_of(*model);
  write_safetensors(folder / "w", other_values(*model_of("resnet20", 10)));

  const LoadSummary summary = load_weights(*model, folder / "w", {.replace = {"linear"}});
  CHECK(summary.replaced == std::vector<std::string>{"linear.weight", "linear.bias"});
  CHECK(summary.loaded == before.size() - 2);
  for (const auto& [name, tensor] : tensors_of(*model)) {
    const auto was = std::ranges::find(before, name, &Tensors::value_type::first);
    INFO(name);
    CHECK(torch::equal(tensor, was->second) == name.starts_with("linear"));
  }
  SECTION("also where the file has nothing, or something else, in that place") {
    Tensors file = other_values(*model);
    std::erase_if(file, [](const auto& entry) { return entry.first.starts_with("linear"); });
    file.emplace_back("linear.0.weight", torch::ones({1}));
    write_safetensors(folder / "w", file);
    CHECK(load_weights(*model, folder / "w", {.replace = {"linear"}}).loaded == before.size() - 2);
  }
  SECTION("a name that nothing has is an error with the nearest") {
    CHECK_THROWS_WITH(
        load_weights(*model, folder / "w", {.replace = {"linaer", "layer1"}}),
        ContainsSubstring("model.replace: \"linaer\"") && ContainsSubstring("did you mean \"linear\"?"));
  }
}

TEST_CASE("replace without a file of weights is not ignored") {
  CHECK_THROWS_WITH(apply_common(*model_of("mlp", 10), {.replace = {"fc3"}}),
                    ContainsSubstring("has no effect without model.weights"));
}

TEST_CASE("freeze takes parameters out of training, by pattern") {
  const auto model = model_of("resnet20", 10);
  apply_common(*model, {.freeze = {"layer1.*", "*.bias", "conv1"}});
  for (const auto& item : model->named_parameters()) {
    const std::string& name = item.key();
    INFO(name);
    CHECK(item.value().requires_grad() ==
          !(name.starts_with("layer1.") || name.ends_with(".bias") || name == "conv1.weight"));
  }
  CHECK_THROWS_WITH(freeze_parameters(*model, {"layre2.*"}),
                    ContainsSubstring("model.freeze: \"layre2.*\" matches nothing"));
}

TEST_CASE("files from before PyTorch counted batches are complete") {
  const TemporaryFolder folder;
  const auto model = model_of("resnet20", 10);
  Tensors file = other_values(*model);
  const auto is_counter = [](const auto& entry) { return entry.first.ends_with("num_batches_tracked"); };
  Tensors old = file;
  std::erase_if(old, is_counter);
  write_safetensors(folder / "old", old);
  CHECK(load_weights(*model, folder / "old", {}).loaded == old.size());
  file.erase(std::ranges::find_if(file, is_counter));
  write_safetensors(folder / "w", file);
  CHECK_THROWS_WITH(load_weights(*model, folder / "w", {}), ContainsSubstring("bn1.num_batches_tracked"));
}

TEST_CASE("a file that is nothing of the kind") {
  const TemporaryFolder folder;
  const auto model = model_of("mlp", 10);
  std::ofstream(folder / "text") << "hello, this is a text";
  CHECK_THROWS_WITH(load_weights(*model, folder / "text", {}),
                    ContainsSubstring("neither a safetensors file nor"));
  std::ofstream(folder / "empty").flush();
  CHECK_THROWS_WITH(load_weights(*model, folder / "empty", {}), ContainsSubstring("it is empty"));
  CHECK_THROWS_WITH(load_weights(*model, folder / "none", {}), ContainsSubstring("No such file"));
}

TEST_CASE("the trained ResNet-20 loads completely, from either of its files") {
  const char* data = std::getenv("RUNNER_TEST_DATA");
  const auto place = std::filesystem::path(data ? data : "") / "resnet20-cifar10";
  if (!data || !std::filesystem::exists(place)) SKIP("needs resnet20-cifar10 in RUNNER_TEST_DATA");
  const auto a = model_of("resnet20", 10), b = model_of("resnet20", 10);
  CHECK(load_weights(*a, place / "resnet20-12fca82f.th", {}).format ==
        "torch.save (old layout, key \"state_dict\")");
  load_weights(*b, place / "resnet20.safetensors", {});
  check_equal(tensors_of(*a), tensors_of(*b));
}
