#include <torch/types.h>
#include <torch/utils.h>

#include <catch2/catch_all.hpp>
#include <cstdlib>
#include <limits>

#include "components/models/exported/operators.hpp"
#include "components/models/model.hpp"
#include "components/torch/meta_mode.hpp"
#include "tests/support/parts.hpp"

// The files are those of the fuzz target, written by scripts/export_model.py: conv, batch norm, mean, dropout
// and linear for images [1, 5, 5] and 3 classes; tied weights and two outputs for tokens.

namespace runner {
namespace {

using Catch::Matchers::ContainsSubstring;

std::string file(const std::string& name) {
  const char* source = std::getenv("RUNNER_SOURCE_DIR");
  return std::string(source ? source : ".") + "/tests/fuzz/corpus/exported/" + name;
}

DataSpec images() {
  DataSpec data;
  data.input_shape = {1, 5, 5};
  data.classes = 3;
  return data;
}

std::unique_ptr<Model> build(const std::string& name, const DataSpec& data, testing::Settings settings = {}) {
  settings.emplace_back("file", Value(file(name)));
  return testing::part<ModelKind>("exported", settings).build({data});
}

Batch batch_of(std::int64_t examples) { return {.input = torch::randn({examples, 1, 5, 5}), .target = {}}; }

TEST_CASE("exported: batch norm trains in training mode only, for batches of any size") {
  const auto model = build("two_programs.pt2", images());
  const torch::Tensor mean = model->named_buffers()["n.running_mean"],
                      counter = model->named_buffers()["n.num_batches_tracked"];
  model->eval();
  const Batch three = batch_of(3);
  const torch::Tensor output = model->forward(three);
  CHECK(output.sizes() == torch::IntArrayRef({3, 3}));
  CHECK(torch::equal(model->forward(three), output));
  CHECK(mean.abs().sum().item<float>() == 0);
  model->train();
  CHECK(model->forward(batch_of(7)).sizes() == torch::IntArrayRef({7, 3}));
  CHECK(mean.abs().sum().item<float>() > 0);
  CHECK(counter.item<std::int64_t>() == 1);
}

TEST_CASE("exported: a sketch on the meta device has names and shapes and reads no weights") {
  MetaMode meta;
  const OperatorModeScope scope(meta);
  const auto model = build("two_programs.pt2", images());
  for (const auto& item : model->named_parameters()) CHECK(item.value().is_meta());
  CHECK(model->named_parameters()["c.weight"].sizes() == torch::IntArrayRef({2, 1, 3, 3}));
  CHECK(model->forward({.input = torch::zeros({4, 1, 5, 5}), .target = {}}).sizes() ==
        torch::IntArrayRef({4, 3}));
}

TEST_CASE("exported: tied weights are one parameter with two names") {
  DataSpec data;
  data.input_shape = data.target_shape = {6};
  data.input_type = data.target_type = torch::kInt64;
  data.vocabulary = data.classes = 5;
  const auto model = build("tied.pt2", data, {{"output", Value("out")}});
  const auto parameters = model->named_parameters();
  CHECK(parameters["e.weight"].is_same(parameters["h.weight"]));
  CHECK_THROWS_WITH(build("tied.pt2", data), ContainsSubstring("returns several tensors (out, other)"));
}

TEST_CASE("exported: an operator that fails is named with its module and its line") {
  const auto model = build("two_programs.pt2", images());
  Batch batch = batch_of(2);
  batch.input = batch.input.to(torch::kFloat64);
  CHECK_THROWS_WITH(model->forward(batch),
                    ContainsSubstring("The exported program fails at conv2d (module c"));
  CHECK_THROWS_WITH(model->forward({.input = torch::zeros({2, 1, 6, 5}), .target = {}}),
                    ContainsSubstring("takes \"x\" as Float [") && ContainsSubstring("Float [2, 1, 6, 5]"));
}

TEST_CASE("exported: sizes are calculated as in Python") {
  const auto result = [](std::string_view target, std::vector<c10::IValue> arguments) {
    return exported::find_arithmetic(target)(arguments);
  };
  CHECK(result("_operator.floordiv", {-7, 2}).toInt() == -4);
  CHECK(result("_operator.mod", {-7, 2}).toInt() == 1);
  CHECK(result("_operator.mod", {7, -2}).toInt() == -1);
  CHECK(result("_operator.truediv", {7, 2}).toDouble() == 3.5);
  CHECK(result("torch.sym_max", {3, 5}).toInt() == 5);
  CHECK(result("_operator.pow", {3, 4}).toInt() == 81);
  CHECK(result("math.ceil", {2.25}).toInt() == 3);
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  CHECK_THROWS_WITH(result("_operator.mul", {largest, 2}), ContainsSubstring("does not fit"));
  CHECK_THROWS_WITH(result("_operator.floordiv", {1, 0}), ContainsSubstring("divided by zero"));
  CHECK(exported::find_arithmetic("os.system") == nullptr);
}

}  // namespace
}  // namespace runner
