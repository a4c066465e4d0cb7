#pragma once

#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "registry/registry.hpp"
#include "runner/cli/problem.hpp"

namespace runner::cli {

// What a new recipe is made from: a recipe file and changes to it.
struct StartingPoint {
  std::filesystem::path recipe;
  std::vector<std::string> overrides = {};
  std::vector<std::string> notes = {};  // what was assumed about the data
};

// For a dataset and a model that have a task in common; an empty name means any. If they do not fit together,
// the Problem says why.
std::variant<StartingPoint, Problem> start_from_parts(const std::string& dataset, const std::string& model,
                                                      const Registry& registry);

// For the user's own data, which is examined; the task is "images", "text", "table" or "language-model". Some
// of the overrides typed say how to read it.
std::variant<StartingPoint, Problem> start_from_data(const std::string& task,
                                                     const std::filesystem::path& data,
                                                     const std::vector<std::string>& typed);
const std::vector<std::string>& data_tasks();

// The component that a recipe names in a section; "" if it names none.
std::string part_in(const std::filesystem::path& recipe, const std::string& section,
                    const Registry& registry);

// The recipe of a task, recipes/tasks/NAME.toml. Throws if it is not installed.
std::filesystem::path task_recipe(const std::string& name);

}  // namespace runner::cli
