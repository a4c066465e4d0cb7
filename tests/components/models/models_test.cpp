#include <torch/types.h>

#include <catch2/catch_all.hpp>

#include "components/models/model.hpp"
#include "tests/support/parts.hpp"

using namespace runner;
using namespace runner::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

ModelInputs images(std::vector<std::int64_t> shape, std::int64_t classes = 10) {
  return {.data = {.input_shape = std::move(shape), .classes = classes}};
}

std::int64_t parameter_count(const Model& model) {
  std::int64_t count = 0;
  for (const auto& parameter : model.parameters()) count += parameter.numel();
  return count;
}

std::vector<std::string> names(const Model& model) {
  std::vector<std::string> all;
  for (const auto& item : model.named_parameters()) all.push_back(item.key());
  return all;
}

torch::Tensor pass(Model& model, const ModelInputs& inputs, std::int64_t batch = 2) {
  std::vector<std::int64_t> shape = inputs.data.input_shape;
  shape.insert(shape.begin(), batch);
  return model.forward({.input = torch::rand(shape)});
}

}  // namespace

TEST_CASE("models: sizes are those of the papers and of torchvision") {
  const auto count = [](const std::string& name, std::int64_t classes) {
    return parameter_count(*part<ModelKind>(name).build(images({3, 32, 32}, classes)));
  };
  CHECK(count("resnet18", 1000) == 11'689'512);
  CHECK(count("resnet34", 1000) == 21'797'672);
  CHECK(count("resnet50", 1000) == 25'557'032);
  CHECK(count("resnet101", 1000) == 44'549'160);
  CHECK(count("wide_resnet50_2", 1000) == 68'883'240);
  CHECK(count("mobilenet_v2", 1000) == 3'504'872);
  CHECK(count("wide_resnet", 10) == 36'479'194);
  CHECK(count("resnet20", 10) == 269'722);
  CHECK(count("resnet32", 10) == 464'154);
  CHECK(count("resnet44", 10) == 658'586);
  CHECK(count("resnet56", 10) == 853'018);
  CHECK(count("simple_cnn", 10) == 448 + 4'640 + 524'544 + 2'570);
  CHECK(count("mlp", 10) == 3072 * 256 + 256 + 256 * 128 + 128 + 1290);
}

TEST_CASE("models: every one turns a batch into one row of outputs an example, and learns") {
  const std::string name = GENERATE("mlp", "simple_cnn", "resnet18", "resnet50", "resnet20", "mobilenet_v2");
  const auto shape = GENERATE(std::vector<std::int64_t>{3, 32, 32}, std::vector<std::int64_t>{1, 28, 28},
                              std::vector<std::int64_t>{4, 17, 33});
  CAPTURE(name, shape);
  const ModelInputs inputs = images(shape, 7);
  const auto model = part<ModelKind>(name).build(inputs);
  const auto output = pass(*model, inputs);
  CHECK(output.sizes() == torch::IntArrayRef{2, 7});
  output.square().sum().backward();
  for (const auto& item : model->named_parameters()) {
    INFO(item.key());
    CHECK(item.value().grad().defined());
  }
  CHECK(model->prefers_channels_last() == (name != "mlp"));
}

TEST_CASE("vit: size, patches and what does not fit") {
  const auto base = part<ModelKind>("vit").build(images({3, 224, 224}, 1000));
  CHECK(parameter_count(*base) == 86'567'656);
  const Settings small{{"patch", 4}, {"layers", 2}, {"heads", 2}, {"width", 16}};
  const ModelInputs inputs = images({1, 12, 8}, 7);
  const auto model = part<ModelKind>("vit", small).build(inputs);
  CHECK(model->named_parameters()["encoder.pos_embedding"].sizes() == torch::IntArrayRef{1, 7, 16});
  CHECK(pass(*model, inputs).sizes() == torch::IntArrayRef{2, 7});
  CHECK_THROWS_WITH(part<ModelKind>("vit", small).build(images({1, 12, 10})),
                    ContainsSubstring("12 x 10") && ContainsSubstring("patches of 4 x 4"));
  CHECK_THROWS_WITH(part<ModelKind>("vit", {{"width", 10}, {"heads", 4}}),
                    ContainsSubstring("multiple of heads"));
}

TEST_CASE("wide_resnet: depth, width and dropout") {
  const ModelInputs inputs = images({3, 16, 16}, 7);
  const Settings small{{"depth", 10}, {"widen", 2}, {"dropout", 0.5}};
  const auto model = part<ModelKind>("wide_resnet", small).build(inputs);
  CHECK(model->named_parameters()["block3.layer.0.conv2.weight"].sizes() ==
        torch::IntArrayRef{128, 128, 3, 3});
  const auto output = pass(*model, inputs);
  CHECK(output.sizes() == torch::IntArrayRef{2, 7});
  output.square().sum().backward();
  for (const auto& item : model->named_parameters()) CHECK(item.value().grad().defined());
  CHECK_THROWS_WITH(part<ModelKind>("wide_resnet", {{"depth", 26}}), ContainsSubstring("6n + 4"));
}

TEST_CASE("mobilenet_v2: width and stem") {
  const ModelInputs inputs = images({3, 32, 32});
  const auto half = part<ModelKind>("mobilenet_v2", {{"width", 0.5}}).build(inputs);
  CHECK(half->named_parameters()["features.0.0.weight"].size(0) == 16);
  CHECK(half->named_parameters()["features.18.0.weight"].size(0) == 1280);
  const auto wide = part<ModelKind>("mobilenet_v2", {{"width", 1.4}, {"stem", "cifar"}}).build(inputs);
  CHECK(wide->named_parameters()["features.18.0.weight"].size(0) == 1792);
  CHECK(pass(*wide, inputs).sizes() == torch::IntArrayRef{2, 10});
  CHECK_THROWS_WITH(part<ModelKind>("mobilenet_v2", {{"width", 1e6}}), ContainsSubstring("at most 100"));
}

TEST_CASE("autoencoder and unet: outputs of the size of the image") {
  const ModelInputs inputs = images({3, 24, 16}, 5);
  const auto autoencoder = part<ModelKind>("autoencoder").build(inputs);
  CHECK(pass(*autoencoder, inputs).sizes() == torch::IntArrayRef{2, 3, 24, 16});
  const auto unet = part<ModelKind>("unet", {{"width", 4}}).build(inputs);
  const auto output = pass(*unet, inputs);
  CHECK(output.sizes() == torch::IntArrayRef{2, 5, 24, 16});
  output.square().sum().backward();
  for (const auto& item : unet->named_parameters()) CHECK(item.value().grad().defined());
  CHECK_THROWS_WITH(part<ModelKind>("unet").build(images({3, 24, 20})),
                    ContainsSubstring("24 x 20") && ContainsSubstring("multiples of 8"));
  CHECK_THROWS_WITH(part<ModelKind>("autoencoder").build(images({3, 24, 18})),
                    ContainsSubstring("multiples of 4"));
}

TEST_CASE("models: names of the small ones") {
  CHECK(names(*part<ModelKind>("simple_cnn").build(images({3, 32, 32}))) ==
        std::vector<std::string>{"conv1.weight", "conv1.bias", "conv2.weight", "conv2.bias", "fc1.weight",
                                 "fc1.bias", "fc2.weight", "fc2.bias"});
  CHECK(
      names(*part<ModelKind>("mlp", {{"hidden", Setting::list({5})}, {"dropout", 0.5}}).build(images({4}))) ==
      std::vector<std::string>{"fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"});
}

TEST_CASE("mlp: dropout acts in training only") {
  const ModelInputs inputs = images({50});
  const auto model = part<ModelKind>("mlp", {{"dropout", 0.5}}).build(inputs);
  const auto x = torch::rand({2, 50});
  CHECK_FALSE(torch::equal(model->forward({.input = x}), model->forward({.input = x})));
  model->eval();
  CHECK(torch::equal(model->forward({.input = x}), model->forward({.input = x})));
}

TEST_CASE("mlp: without hidden layers it is linear") {
  const auto model = part<ModelKind>("mlp", {{"hidden", Setting::list({})}}).build(images({2, 3}, 4));
  CHECK(names(*model) == std::vector<std::string>{"fc1.weight", "fc1.bias"});
  CHECK(model->parameters()[0].sizes() == torch::IntArrayRef{4, 6});
}

TEST_CASE("resnet: stems, and blocks that begin as the identity") {
  const ModelInputs inputs = images({3, 32, 32});
  const auto cifar =
      part<ModelKind>("resnet18", {{"stem", "cifar"}, {"zero_init_residual", true}}).build(inputs);
  CHECK(cifar->named_parameters()["conv1.weight"].sizes() == torch::IntArrayRef{64, 3, 3, 3});
  CHECK(cifar->named_parameters().contains("conv1.bias"));
  for (const auto& item : cifar->named_parameters()) {
    const bool last_norm = item.key().ends_with(".bn2.weight");
    if (item.key().find("bn") == std::string::npos || !item.key().ends_with("weight")) continue;
    INFO(item.key());
    CHECK(item.value().abs().sum().item<float>() ==
          (last_norm ? 0.0F : static_cast<float>(item.value().numel())));
  }
  const auto imagenet = part<ModelKind>("resnet50", {{"zero_init_residual", true}}).build(inputs);
  CHECK(imagenet->named_parameters()["conv1.weight"].sizes() == torch::IntArrayRef{64, 3, 7, 7});
  CHECK_FALSE(imagenet->named_parameters().contains("conv1.bias"));
  CHECK(imagenet->named_parameters()["layer2.0.bn3.weight"].abs().sum().item<float>() == 0);
  CHECK(imagenet->named_parameters()["layer2.0.bn2.weight"].abs().sum().item<float>() == 128);
}

TEST_CASE("models: data that cannot fit is refused when the model is built") {
  const auto build = [](const std::string& name, const ModelInputs& inputs, const Settings& settings = {}) {
    return part<ModelKind>(name, settings).build(inputs);
  };
  for (const std::string name : {"simple_cnn", "resnet18", "resnet20"}) {
    CHECK_THROWS_WITH(build(name, images({784})), ContainsSubstring("Model \"" + name + "\"") &&
                                                      ContainsSubstring("needs images") &&
                                                      ContainsSubstring("[784]"));
  }
  for (const std::string name : {"mlp", "simple_cnn", "resnet18", "resnet20"}) {
    INFO(name);
    CHECK_THROWS_WITH(build(name, images({3, 32, 32}), {{"num_classes", 100}}),
                      ContainsSubstring("num_classes is 100") && ContainsSubstring("10 classes"));
    CHECK_NOTHROW(build(name, images({3, 32, 32}), {{"num_classes", 10}}));
    CHECK_THROWS_WITH(build(name, images({3, 32, 32}, 0)), ContainsSubstring("give num_classes"));
    CHECK_NOTHROW(build(name, images({3, 32, 32}, 0), {{"num_classes", 3}}));
    ModelInputs tokens = images({3, 32, 32});
    tokens.data.input_type = torch::kInt64;
    CHECK_THROWS_WITH(build(name, tokens),
                      ContainsSubstring("gives whole numbers (Long); this model needs " +
                                        std::string(name == "mlp" ? "floating-point numbers" : "images")));
  }
  CHECK_THROWS_WITH(build("simple_cnn", images({3, 3, 8})),
                    ContainsSubstring("3 x 8") && ContainsSubstring("the smallest size is 4 x 4"));
  CHECK_THROWS_WITH(build("mlp", images({3, 0})), ContainsSubstring("[3, 0]"));
  CHECK_THROWS_WITH(build("mlp", images({})), ContainsSubstring("[]"));
}

TEST_CASE("models: numbers to predict instead of classes") {
  ModelInputs regression{.data = {.input_shape = {5}, .target_shape = {3}, .target_type = torch::kFloat32}};
  const auto model = part<ModelKind>("mlp").build(regression);
  CHECK(pass(*model, regression).sizes() == torch::IntArrayRef{2, 3});
  CHECK_THROWS_WITH(part<ModelKind>("mlp", {{"num_classes", 2}}).build(regression),
                    ContainsSubstring("3 numbers"));
}

TEST_CASE("models: parameters out of range") {
  CHECK_THROWS_WITH(part<ModelKind>("mlp", {{"dropout", 1.5}}), ContainsSubstring("dropout"));
  CHECK_THROWS_WITH(part<ModelKind>("mlp", {{"hidden", Setting::list({0})}}), ContainsSubstring("hidden"));
  CHECK_THROWS_WITH(part<ModelKind>("resnet18", {{"stem", "mnist"}}), ContainsSubstring("stem"));
  const Value too_many(Value::Data(Array(64, Value(Value::Data(std::int64_t{1})))));
  CHECK_THROWS_WITH(part<ModelKind>("autoencoder", {{"channels", too_many}}),
                    ContainsSubstring("has 64 entries") && ContainsSubstring("at most 16 times"));
}

TEST_CASE("models: channels_last gives the same numbers") {
  const std::string name = GENERATE("simple_cnn", "resnet18", "resnet20");
  const ModelInputs inputs = images({3, 32, 32});
  const auto model = part<ModelKind>(name).build(inputs);
  model->eval();
  const auto x = torch::rand({2, 3, 32, 32});
  const auto plain = model->forward({.input = x});
  for (auto& parameter : model->parameters()) {
    if (parameter.dim() == 4) parameter.set_data(parameter.contiguous(torch::MemoryFormat::ChannelsLast));
  }
  const auto last = model->forward({.input = x.contiguous(torch::MemoryFormat::ChannelsLast)});
  CHECK(torch::allclose(plain, last, 1e-4, 1e-5));
}
