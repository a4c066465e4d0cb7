#include "runner/predict/offload/operator_arguments.hpp"

#include <torch/types.h>

#include <catch2/catch_all.hpp>

using namespace runner;

TEST_CASE("offload: arguments in lists are moved, and what is written into stays where it is", "[offload]") {
  const torch::Tensor here = torch::ones({2}), there = torch::ones({2}, torch::kMeta),
                      number = torch::ones({});
  auto& dispatcher = c10::Dispatcher::singleton();
  torch::jit::Stack list{std::vector<torch::Tensor>{here, there, number}, 0};
  const auto cat = dispatcher.findSchemaOrThrow("aten::cat", "");
  bring_together(cat, list, torch::Device(torch::kMeta));
  CHECK(list[0].toTensorVector()[0].is_meta());
  CHECK(list[0].toTensorVector()[1].is_meta());
  CHECK(list[0].toTensorVector()[2].is_cpu());
  torch::jit::Stack optional{there, c10::List<std::optional<torch::Tensor>>({std::nullopt, here})};
  bring_together(dispatcher.findSchemaOrThrow("aten::index", "Tensor"), optional, std::nullopt);
  CHECK(optional[1].toListRef()[0].isNone());
  CHECK(optional[1].toListRef()[1].toTensor().is_meta());
  torch::jit::Stack write{there, here, 1};
  bring_together(dispatcher.findSchemaOrThrow("aten::add_", "Tensor"), write, torch::Device(torch::kCPU));
  CHECK(write[0].toTensor().is_same(there));
  CHECK(write[1].toTensor().is_meta());
}
