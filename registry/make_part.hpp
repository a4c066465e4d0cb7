#pragma once

#include <stdexcept>

#include "registry/conform.hpp"
#include "registry/registry.hpp"

namespace runner {

namespace detail {
template <Kind K>
struct OnePart {
  Part<K> part;
};
template <Kind K>
constexpr auto describe(std::type_identity<OnePart<K>>) {
  return fields(field("part", &OnePart<K>::part, "The part.", required()));
}
}  // namespace detail

// A component as a recipe would give it: found by name, checked against its schema, decoded, ready to build.
//   make_part<OptimizerKind>(registry, "sgd", {{"lr", 0.1}}).build(inputs)
// Throws std::invalid_argument with everything that is wrong with the settings.
template <Kind K>
Part<K> make_part(const Registry& registry, std::string name, const PartSettings& settings = {}) {
  const Value tree = encode_table(detail::OnePart<K>{Part<K>(std::move(name), settings)});
  Diagnostics diagnostics;
  const Value conformed = conform(tree, schema_of<detail::OnePart<K>>(), registry, diagnostics);
  if (!diagnostics.ok()) throw std::invalid_argument(render(diagnostics));
  return decode_table<detail::OnePart<K>>(conformed, registry).part;
}

}  // namespace runner
