// A checkpoint may come from anywhere. Whatever its states contain, loading one takes it or says what is
// wrong; the sanitizers see what else happens.
#include <torch/types.h>

#include <catch2/catch_all.hpp>
#include <functional>
#include <limits>

#include "runner/checkpoint/checkpoint.hpp"
#include "runner/train/training_run.hpp"
#include "tests/support/decoded_recipe.hpp"
#include "tests/support/resumed_runs.hpp"

using namespace runner;
using namespace runner::testing;

namespace {

using Try = std::function<void(const State&)>;

// Each entry in turn with each of the values, and left out.
template <class Entries>
void change_each(const State& whole, Entries State::* entries,
                 const std::vector<typename Entries::mapped_type>& values, const Try& attempt) {
  for (const auto& [name, value] : whole.*entries) {
    State changed = whole;
    for (const auto& other : values) {
      (changed.*entries)[name] = other;
      attempt(changed);
    }
    (changed.*entries).erase(name);
    attempt(changed);
  }
}

void damage(const State& whole, const Try& attempt) {
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  change_each(whole, &State::integers, {-1, 0, most, std::numeric_limits<std::int64_t>::min()}, attempt);
  change_each(whole, &State::numbers, {-1, 0, 1e308, -infinity, std::nan("")}, attempt);
  change_each(whole, &State::texts, {"", "\n\n", "no line end", std::string(3, '\0')}, attempt);
  change_each(whole, &State::tensors,
              {torch::empty({0}), torch::tensor(1.5), torch::zeros({3}, torch::kLong),
               torch::zeros({2, 0, 5}), torch::zeros({1, 1}, torch::kFloat64)},
              attempt);
  change_each(whole, &State::parts, {State{}}, attempt);
  for (const auto& [name, part] : whole.parts) {
    damage(part, [&](const State& changed) {
      State outer = whole;
      outer.parts[name] = changed;
      attempt(outer);
    });
  }
}

// Loads every state of an interrupted run into a new one, damaged in every way.
void load_damaged(const std::string& override_) {
  const Recipes files(table_recipe);
  const auto folder = files.folder / "run";
  train_in(files, folder, {override_}, 6);
  const Checkpoint saved = read_checkpoint(folder / "checkpoints/latest");
  const Recipe recipe = decoded_recipe(files, {override_});
  World alone;
  Run run(recipe, alone);
  std::size_t loaded = 0, refused = 0;
  for (const auto& [name, object] : run.stateful) {
    const auto state = saved.states.find(name);
    if (state == saved.states.end()) continue;
    damage(state->second, [&](const State& changed) {
      try {
        object->load(changed);
        ++loaded;
      } catch (const std::exception&) {
        ++refused;
      }
      object->save();
    });
    CHECK_NOTHROW(object->load(state->second));
  }
  CHECK(loaded > 0);
  CHECK(refused > 0);
}

}  // namespace

TEST_CASE("damaged states are refused or taken by every component that keeps one", "[resume]") {
  const auto each = [](const std::string& kind, const std::function<std::string(std::string)>& choose) {
    for (const std::string& name : Registry::of_linked().names(kind)) {
      INFO(kind << " " << name);
      load_damaged(choose(name));
    }
  };
  each("optimizer", [](const std::string& name) { return "optimizer={name=\"" + name + "\", lr=0.01}"; });
  each("scheduler", [](const std::string& name) { return "scheduler=" + usual_part(name); });
  each("precision", [](const std::string& name) { return "precision=" + name; });
  each("hook", [](const std::string& name) { return "hook=[" + usual_part(name) + "]"; });
}
