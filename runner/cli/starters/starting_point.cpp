#include "runner/cli/starters/starting_point.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "components/datasets/dataset.hpp"
#include "components/models/model.hpp"
#include "registry/base/arithmetic.hpp"
#include "registry/base/wording.hpp"
#include "runner/cli/options/recipe_files.hpp"
#include "runner/resolve/resolve.hpp"
#include "runner/terminal/text.hpp"

namespace runner::cli {

namespace {

constexpr std::array<const char*, 8> task_names{"images",    "reconstruction", "segmentation",
                                                "sentences", "language-model", "translation",
                                                "table",     "numbers"};

std::string name_of(Task task) { return task_names.at(static_cast<std::size_t>(task)); }

template <class Kind>
ComponentFacts<Kind> facts_of_part(const std::string& name, const Registry& registry) {
  const Descriptor* component = registry.find(Kind::name, name);
  return component ? facts_of<Kind>(*component, registry) : ComponentFacts<Kind>{};
}

bool goes_with(const std::vector<Task>& tasks, Task task) {
  return tasks.empty() || std::ranges::find(tasks, task) != tasks.end();
}

template <class Kind>
std::vector<std::string> parts_for(const std::vector<Task>& tasks, const Registry& registry) {
  std::vector<std::string> names;
  for (const Descriptor* component : registry.of_kind(Kind::name)) {
    const auto known = facts_of<Kind>(*component, registry).tasks;
    if (std::ranges::any_of(tasks, [&](Task task) { return !known.empty() && goes_with(known, task); }))
      names.emplace_back(component->name);
  }
  return names;
}

std::string listed(const std::vector<Task>& tasks) {
  std::vector<std::string> names;
  for (const Task task : tasks) names.push_back(name_of(task));
  return joined(names, " or ");
}

// The recipes of tasks begin with a resize. It is removed if the images have a size that suits the model.
void choose_size(const DatasetFacts& dataset, const ModelFacts& model, std::vector<std::string>& overrides) {
  constexpr std::int64_t usual_side = 64;
  const std::int64_t divisor = std::max<std::int64_t>(1, model.side_divisor);
  if (dataset.image_side > 0 && dataset.image_side % divisor == 0) {
    overrides.emplace_back("~dataset.transform.0");
    return;
  }
  const std::int64_t wanted = dataset.image_side > 0 ? dataset.image_side : usual_side;
  const std::string side = std::to_string(divide_up(wanted, divisor) * divisor);
  overrides.push_back("dataset.transform.0.height=" + side);
  overrides.push_back("dataset.transform.0.width=" + side);
}

}  // namespace

std::string part_in(const std::filesystem::path& recipe, const std::string& section,
                    const Registry& registry) {
  Diagnostics ignored;
  Registry own = registry;
  const auto resolved = resolve_recipe({recipe}, own, ignored, Blanks::allowed);
  const Value* part = resolved ? resolved->as<Table>()->find(section) : nullptr;
  return part ? *part->as<Table>()->find("name")->as<std::string>() : "";
}

std::filesystem::path task_recipe(const std::string& name) {
  if (const auto found = known_recipe("tasks/" + name, {})) return *found;
  throw std::runtime_error("The installation is incomplete: recipes/tasks/" + name + ".toml is missing.");
}

std::variant<StartingPoint, Problem> start_from_parts(const std::string& dataset, const std::string& model,
                                                      const Registry& registry) {
  const auto of_dataset = facts_of_part<DatasetKind>(dataset, registry).tasks;
  const auto of_model = facts_of_part<ModelKind>(model, registry).tasks;
  const std::vector<Task>& wanted = of_dataset.empty() ? of_model : of_dataset;
  const auto common = std::ranges::find_if(wanted, [&](Task task) { return goes_with(of_model, task); });
  if (common == wanted.end() && !wanted.empty()) {
    return Problem{"the dataset " + in_quotes(dataset) + " and the model " + in_quotes(model) +
                       " do not go together: one is for " + listed(of_dataset) + ", the other for " +
                       listed(of_model),
                   {"models for this dataset: " + joined(parts_for<ModelKind>(of_dataset, registry)),
                    "datasets for this model: " + joined(parts_for<DatasetKind>(of_model, registry))}};
  }
  const Task task = wanted.empty() ? Task::images : *common;
  StartingPoint start{task_recipe(name_of(task))};
  const std::string used_dataset = dataset.empty() ? part_in(start.recipe, "dataset", registry) : dataset;
  const std::string used_model = model.empty() ? part_in(start.recipe, "model", registry) : model;
  const auto model_facts = facts_of_part<ModelKind>(used_model, registry);
  if (task == Task::images || task == Task::reconstruction)
    choose_size(facts_of_part<DatasetKind>(used_dataset, registry), model_facts, start.overrides);
  const Descriptor* component = registry.find(DatasetKind::name, used_dataset);
  for (const auto& [key, value] : model_facts.dataset_settings) {
    if (component && component->schema().find(key)) start.overrides.push_back("dataset." + key + "=" + value);
  }
  return start;
}

}  // namespace runner::cli
