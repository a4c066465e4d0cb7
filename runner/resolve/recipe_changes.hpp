#pragma once

#include <string>
#include <vector>

#include "registry/registry.hpp"
#include "registry/schema.hpp"
#include "registry/value.hpp"

namespace runner {

// A key whose value has changed since the checkpoint was written.
struct RecipeChange {
  std::string key;     // "optimizer.lr"
  std::string before;  // as TOML; empty: it was not set
  std::string now;
  OnResume effect = OnResume::course;
  std::string why = {};                // reason for the effect, if the key alone does not explain it
  OnResume mark = OnResume::unmarked;  // that the key declares, or its component
};

// The differences between the recipe a checkpoint was written with and the one to resume with. Their effects
// come from the declarations of the fields (harmless(), changes_course() ..). Paths of code are not compared:
// a run has its own copies.
std::vector<RecipeChange> recipe_changes(const Value& before, const Value& now, const Schema& schema,
                                         const Registry& registry);

// A table to show: key, before, now, effect.
std::string changes_table(const std::vector<RecipeChange>& changes);

std::string_view effect_text(OnResume effect);

}  // namespace runner
