#include "runner/inspect/blueprint.hpp"

#include <catch2/catch_all.hpp>

#include "tests/support/decoded_recipe.hpp"

namespace runner {
namespace {

// The first attempt at a model of one's own often has no parameters yet.
class SumOfInputs : public Model {
 public:
  torch::Tensor forward(const Batch& batch) override {
    return batch.input.sum(1, /*keepdim=*/true).expand({batch.size(), 10});
  }
};

TEST_CASE("a model without parameters is inspected like any other") {
  const testing::Recipes files(R"(
[model]
name = "mlp"
[dataset]
name = "synthetic"
shape = [4]
[optimizer]
name = "sgd"
[train]
max_steps = 1
)");
  const Recipe recipe = testing::decoded_recipe(files);
  Blueprint blueprint = draw_blueprint(recipe);
  blueprint.model = std::make_shared<SumOfInputs>();
  const Inspection found = inspect(recipe, blueprint);
  CHECK(found.parameters == 0);
  CHECK(found.output_shape == std::vector<std::int64_t>{2, 10});
}

}  // namespace
}  // namespace runner
