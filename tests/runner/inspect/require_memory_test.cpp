#include <torch/utils.h>

#include <catch2/catch_all.hpp>
#include <cmath>

#include "runner/engine/runtime/memory.hpp"
#include "runner/inspect/blueprint.hpp"
#include "tests/support/decoded_recipe.hpp"
#include "tests/support/recipes.hpp"

using namespace runner;
using namespace runner::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

// An mlp whose weights take this share of the machine's memory.
void require_memory_of(double share, const std::vector<std::string>& more, const Place& place,
                       torch::DeviceType device = torch::kCPU) {
  const auto parameters = share * static_cast<double>(main_memory().total) / 4;
  const auto width = static_cast<std::int64_t>(std::sqrt(parameters));
  std::vector<std::string> overrides{"model.hidden=[" + std::to_string(width) + "," + std::to_string(width) +
                                     "]"};
  overrides.insert(overrides.end(), more.begin(), more.end());
  const Recipes files(R"(
[model]
name = "mlp"
[dataset]
name = "synthetic"
shape = [4]
[optimizer]
name = "sgd"
lr = 0.1
[train]
max_steps = 1
)");
  const Recipe recipe = decoded_recipe(files, overrides);
  const World world(place);
  require_memory(recipe, {.input_shape = {4}, .classes = 2}, world, device);
}

const Place alone{}, one_of_four{0, 4, 0, 4, "a"}, on_two_machines{0, 4, 0, 2, "a"};

}  // namespace

TEST_CASE("a model is refused where the ranks of a machine cannot hold it") {
  if (main_memory().total == 0) SKIP("the size of the memory is not known");
  CHECK_NOTHROW(require_memory_of(0.4, {}, alone));
  CHECK_THROWS_WITH(require_memory_of(0.6, {}, alone), ContainsSubstring("takes at least"));
  CHECK_NOTHROW(require_memory_of(0.6, {"model.freeze=[\"fc1.*\"]"}, alone));
  CHECK_THROWS_WITH(require_memory_of(0.2, {}, one_of_four), ContainsSubstring("Training it on 4 ranks"));
  CHECK_THROWS(require_memory_of(0.3, {}, on_two_machines));
  // Gradients are shared out, and the weights, too.
  CHECK_NOTHROW(require_memory_of(0.3, {"distributed.strategy=zero2"}, on_two_machines));
  CHECK_NOTHROW(require_memory_of(0.9, {"distributed.strategy=zero3"}, on_two_machines));
  CHECK_THROWS(require_memory_of(1.1, {"distributed.strategy=zero3"}, on_two_machines));
  // Elsewhere only the model passes through main memory.
  CHECK_NOTHROW(require_memory_of(0.9, {}, one_of_four, torch::kCUDA));
}
