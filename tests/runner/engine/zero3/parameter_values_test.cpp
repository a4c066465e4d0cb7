// Where the parameters of a sharded model get their first values from.
#include "runner/engine/zero3/parameter_values.hpp"

#include <torch/utils.h>

#include <catch2/catch_all.hpp>

#include "components/models/weights/model_weights.hpp"
#include "runner/engine/zero3/sharding.hpp"
#include "runner/engine/zero3/storage_memory.hpp"
#include "tests/support/parts.hpp"
#include "tests/support/ranks.hpp"

using namespace runner;
using namespace runner::testing;
using From = ParameterValues::From;

namespace {

std::shared_ptr<Model> cnn() {
  return part<ModelKind>("simple_cnn", {}).build({{.input_shape = {3, 8, 8}, .classes = 4}});
}

// Numbers that tell a parameter, and an element of it, from all others.
std::map<std::string, torch::Tensor> distinct_values(const Model& model) {
  std::map<std::string, torch::Tensor> values;
  double first = 1;
  for (const auto& item : model.named_parameters()) {
    values[item.key()] =
        torch::arange(item.value().numel(), torch::kFloat).add(first).view(item.value().sizes());
    first += 100000;
  }
  return values;
}

}  // namespace

TEST_CASE("parameter values: tensors without memory get them from rank 0, from every rank, or none",
          "[zero3]") {
  const auto from = GENERATE(From::rank_0, From::every_rank, From::nowhere);
  const auto layout = GENERATE(torch::MemoryFormat::Contiguous, torch::MemoryFormat::ChannelsLast);
  const bool whole = GENERATE(false, true);
  CAPTURE(from, layout, whole);
  on_ranks(3, [&](World& world) {
    const torch::NoGradGuard no_grad;
    const std::shared_ptr<Model> model = cnn();
    const auto expected = distinct_values(*model);
    for (const torch::Tensor& parameter : model->parameters())
      place_without_memory(parameter, torch::kCPU, layout, "no memory");
    ParameterValues values{.from = from};
    if (from == From::every_rank || (from == From::rank_0 && world.is_main())) values.tensors = expected;
    std::size_t given_back = 0;
    values.give_back = [&](const torch::Tensor&) { ++given_back; };
    Sharding sharding(world, *model, {.unit_bytes = 3000, .whole_parameters = whole}, values);
    if (from == From::rank_0 && given_back != (world.is_main() ? expected.size() : 0))
      throw std::runtime_error("values were not given back");
    for (const auto& [name, tensor] : sharding.weights.all()) {
      if (!expected.contains(name)) continue;
      const torch::Tensor right =
          from == From::nowhere ? torch::zeros_like(expected.at(name)) : expected.at(name);
      if (!torch::equal(tensor, right)) throw std::runtime_error(name + " differs");
    }
  });
}

TEST_CASE("parameter values: each rank reads only what it keeps of a large file", "[zero3]") {
  on_ranks(2, [&](World& world) {
    const torch::NoGradGuard no_grad;
    const std::shared_ptr<Model> model = part<ModelKind>("mlp", {{"hidden", Setting::list({64})}})
                                             .build({{.input_shape = {64}, .classes = 4}});
    ParameterValues values{.from = From::every_rank, .tensors = distinct_values(*model)};
    // Memory that the other rank's part lies in could not be read: here it holds NaN.
    std::int64_t poisoned = 0;
    {
      const std::shared_ptr<Model> same = part<ModelKind>("mlp", {{"hidden", Setting::list({64})}})
                                              .build({{.input_shape = {64}, .classes = 4}});
      Sharding layout(world, *same, {.unit_bytes = 20000});
      for (const auto& item : same->named_parameters()) {
        const auto [unit, index] = layout.parameters.place_of(item.value());
        const auto own = layout.parameters.units()[unit]->layout().piece(index, world.rank());
        torch::Tensor elements = values.tensors[item.key()].view(-1);
        const torch::Tensor kept = elements.narrow(0, own.first, own.count).clone();
        poisoned += elements.numel() - own.count;
        elements.fill_(std::numeric_limits<float>::quiet_NaN());
        elements.narrow(0, own.first, own.count).copy_(kept);
      }
    }
    const auto expected = distinct_values(*model);
    for (const torch::Tensor& parameter : model->parameters())
      place_without_memory(parameter, torch::kCPU, torch::MemoryFormat::Contiguous, "no memory");
    Sharding sharding(world, *model, {.unit_bytes = 20000}, std::move(values));
    if (poisoned == 0) throw std::runtime_error("every rank keeps everything");
    for (const auto& [name, tensor] : sharding.weights.all())
      if (!torch::equal(tensor, expected.at(name))) throw std::runtime_error(name + " differs");
  });
}
