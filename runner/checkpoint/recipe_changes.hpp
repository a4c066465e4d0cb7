#pragma once

#include <string>
#include <vector>

#include "registry/registry.hpp"
#include "registry/schema.hpp"
#include "registry/value.hpp"

namespace runner {

// One key that has another value now than when the run was started.
struct RecipeChange {
  std::string key;     // "optimizer.lr"
  std::string before;  // as TOML; empty: it was not there
  std::string now;
  OnResume effect = OnResume::course;
  std::string why = {};  // it has this effect, where the key alone does not tell
};

// What differs between the recipe a checkpoint was written with and the one to resume with, judged by the
// marks in the declarations of the fields.
std::vector<RecipeChange> recipe_changes(const Value& before, const Value& now, const Schema& schema,
                                         const Registry& registry);

// Lines for people: key, before, now, effect.
std::string changes_table(const std::vector<RecipeChange>& changes);

std::string_view effect_text(OnResume effect);

}  // namespace runner
