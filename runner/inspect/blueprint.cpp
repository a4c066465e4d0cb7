#include "runner/inspect/blueprint.hpp"

#include <algorithm>

#include "registry/recipe_error.hpp"

namespace runner {

Blueprint draw_blueprint(const Recipe& recipe) {
  const auto dataset = recipe.dataset.build({static_cast<std::uint64_t>(recipe.run.seed)});
  const DataSpec raw = dataset->spec();
  const DataSpec data = after(build_pipeline(recipe.dataset.common.transform, raw), raw, /*training=*/true);
  if (std::ranges::any_of(data.input_shape, [](std::int64_t size) { return size < 0; })) {
    throw RecipeError(
        recipe.dataset.origin(),
        "the images may differ in size, and nothing makes them equal: add a transform such as resize to "
        "dataset.transform");
  }
  return {data, recipe.model.build({data}), recipe.loss.build({data})};
}

}  // namespace runner
