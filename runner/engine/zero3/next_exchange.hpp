#pragma once

#include <cstdint>

#include "runner/engine/world.hpp"

namespace runner {

// The next collective of ranks that have sharded the parameters among themselves. All ranks must call
// collectives in the same order, whatever each of them computes, so they agree on every one: of what the
// ranks propose, the highest Kind is done. Gradients come first, because they hold memory until they are
// sent, and what is needed now comes before what may be needed soon.
struct NextExchange {
  enum class Kind : std::int64_t { nothing, prefetch, gather, reduce };

  Kind kind = Kind::nothing;
  std::size_t unit = 0;

  bool gathers() const { return kind == Kind::gather || kind == Kind::prefetch; }
  friend bool operator==(const NextExchange&, const NextExchange&) = default;
};

// Every rank takes part, with its own proposal.
NextExchange agree_on(World& world, const NextExchange& own);

}  // namespace runner
