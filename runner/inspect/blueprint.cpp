#include "runner/inspect/blueprint.hpp"

#include <algorithm>
#include <stdexcept>

#include "runner/measurements.hpp"
#include "runner/parts.hpp"

namespace runner {

Blueprint draw_blueprint(const Recipe& recipe) {
  const auto dataset = build_dataset(recipe);
  const DataSpec raw = dataset->spec();
  const DataSpec data = after(build_pipeline(recipe.dataset.common.transform, raw), raw, /*training=*/true);
  if (std::ranges::any_of(data.input_shape, [](std::int64_t size) { return size < 0; })) {
    throw std::runtime_error(
        "the examples differ in size, so no batch can hold them; add a transform such as resize");
  }
  require_targets(recipe.loss, data);
  // As many examples of each class: what shapes go through does not depend on the numbers.
  const std::vector<std::int64_t> counts(static_cast<std::size_t>(data.classes), 1);
  return {data, build_bare_model(recipe, data), recipe.loss.build({data, counts})};
}

}  // namespace runner
