#pragma once

#include <cstdint>

#include "runner/engine/world.hpp"

namespace runner {

// What ranks that have divided the parameters among themselves do next, together. Collectives have to be
// called by all in the same order, whatever each of them computes, so they agree on every one: of what ranks
// say, the last in this order is done. Gradients that are to be given away hold memory, and what is needed
// now goes before what may be needed soon.
struct NextExchange {
  enum class Kind : std::int64_t { nothing, prefetch, gather, reduce };

  Kind kind = Kind::nothing;
  std::size_t unit = 0;

  bool gathers() const { return kind == Kind::gather || kind == Kind::prefetch; }
  friend bool operator==(const NextExchange&, const NextExchange&) = default;
};

// Every rank takes part, with what it would do.
NextExchange agree_on(World& world, const NextExchange& own);

}  // namespace runner
