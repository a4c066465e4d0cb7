// A program of your own: writes a recipe in C++, checks it as if it stood in a file, and trains it.
//   train [PLUGIN WITH THE MODEL my_model]
#include <iostream>

#include "runner/recipe/recipe.hpp"
#include "runner/resolve/resolve.hpp"
#include "runner/toml/write.hpp"
#include "runner/train/train_recipe.hpp"

int main(int argc, char** argv) {
  using namespace runner;
  Recipe recipe;
  recipe.run.name = "in_code";
  recipe.model = Part<ModelKind>("mlp", {{"hidden", PartSetting::list({32, 16})}});
  recipe.dataset = Part<DatasetKind>("shapes", {{"train", 500}, {"eval", 100}});
  recipe.optimizer = Part<OptimizerKind>("adam", {{"lr", 0.01}});
  recipe.train.epochs = 1;
  if (argc > 1) {
    recipe.plugins = {argv[1]};  // any path: it is the program that names it
    recipe.model = Part<ModelKind>("my_model", {{"width", 16}});
  }

  Registry registry = Registry::of_linked();  // takes up what plugins bring
  Diagnostics found;
  const auto resolved = resolve_recipe(recipe, registry, found);
  std::cerr << render(found);
  if (!resolved) return 2;

  std::cout << write_toml(*resolved);  // runs with `runner FILE`, too
  World world;                         // of one process
  set_up_process(*resolved, registry, world);
  return train_recipe(*resolved, registry, world, {.recipe_file = "in code", .quiet = true}).exit_code();
}
