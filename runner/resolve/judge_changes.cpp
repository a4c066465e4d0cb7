#include "runner/resolve/judge_changes.hpp"

#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>

#include <algorithm>
#include <cmath>

#include "components/schedulers/learning_rate.hpp"
#include "registry/codec.hpp"
#include "registry/conform.hpp"
#include "runner/recipe/measurements.hpp"
#include "runner/recipe/plan.hpp"
#include "runner/recipe/recipe.hpp"
#include "runner/recipe/recipe_walk.hpp"

namespace runner {

namespace {

// The sections that are judged here.
constexpr std::string_view judged[] = {
    OptimizerKind::name, SchedulerKind::name, PrecisionKind::name, HookKind::name, "train", "eval",
    "checkpoint"};

bool is_in(const RecipeChange& change, std::string_view section) {
  return change.key.starts_with(section) &&
         (change.key.size() == section.size() || change.key[section.size()] == '.');
}

// A blank is a string, whatever its field is. Secrets are strings, so theirs can be decoded.
bool can_be_decoded(const Value& value) {
  if (const auto* list = value.as<Array>()) return std::ranges::all_of(*list, can_be_decoded);
  if (const auto* table = value.as<Table>())
    return std::ranges::all_of(*table, [](const Member& member) { return can_be_decoded(member.value); });
  return value.secret || !is_blank(value);
}

// Only the sections that are judged: others may have blanks. A judged section with a blank, which an older or
// a damaged recipe has where a required key is missing, is taken from `now`: what it was is unknown.
Recipe earlier_recipe(const Value& before, const Value& now, const Registry& registry) {
  Value mixed = now;
  for (const std::string_view section : judged) {
    const Value* old = before.as<Table>()->find(section);
    if (old && !can_be_decoded(*old)) continue;
    mixed.as<Table>()->erase(section);
    if (old) mixed.as<Table>()->set(std::string(section), *old);
  }
  return decode_table<Recipe>(mixed, registry);
}

void changes_course_if(bool depends, std::vector<RecipeChange>& changes,
                       std::initializer_list<OnResume> marks, const std::string& why) {
  if (!depends) return;
  for (RecipeChange& change : changes) {
    if (std::ranges::find(marks, change.mark) == marks.end()) continue;
    change.effect = OnResume::course;
    change.why = why;
  }
}

// Whether a hook has a moment that is a share of the run, such as swa's from = "0.75run".
bool hooks_depend_on_length(const Value& now, const Registry& registry) {
  bool depends = false;
  RecipeVisitor visitor;
  visitor.setting = [&](const Value& value, const FieldInfo& field, const std::string& key) {
    const TypeInfo& type = field.type.element ? *field.type.element : field.type;
    const auto* text = value.as<std::string>();
    if (!key.starts_with(HookKind::name) || type.kind != TypeInfo::Kind::duration || !text) return;
    const auto parsed = parse_duration(*text);
    const auto* moment = std::get_if<Duration>(&parsed);
    depends = depends || (moment && moment->unit == Duration::Unit::run);
  };
  Value walked = now;
  walk_recipe(walked, schema_of<Recipe>(), registry, visitor);
  return depends;
}

// Whether the last evaluation of the run, at its end, is also one of those that happen every so often. If
// not, a longer run does not have it.
bool ends_with_regular_evaluation(const Recipe& recipe) {
  const Duration& every = recipe.eval.every;
  if (recipe.train.max_time && every.unit != Duration::Unit::never) return false;
  const auto divides = [&](double length) {
    const double evaluations = length / every.amount;
    return std::abs(evaluations - std::round(evaluations)) <= 1e-9;  // as much as Interval::passed tolerates
  };
  switch (every.unit) {
    case Duration::Unit::epoch: return !recipe.train.max_steps && divides(recipe.train.epochs.value_or(0));
    case Duration::Unit::step:
      return !recipe.train.epochs && divides(static_cast<double>(recipe.train.max_steps.value_or(0)));
    case Duration::Unit::second: return false;
    case Duration::Unit::run: return divides(1);
    case Duration::Unit::never: break;
  }
  return true;
}

// The length of the run and its evaluations matter only if something depends on them. An additional metric
// changes nothing; one that is computed differently may change what a hook or a schedule decides.
void judge_dependencies(std::vector<RecipeChange>& changes, const Recipe& before, const Recipe& now,
                        bool hooks_depend) {
  auto watchers = watchers_of(now);
  std::ranges::move(watchers_of(before), std::back_inserter(watchers));
  const std::string watcher = watchers.empty() ? "" : watchers.front().section;
  const bool watched = !watchers.empty();
  using enum OnResume;
  changes_course_if(watched, changes, {evaluations}, watcher + " depends on the evaluations");
  changes_course_if(watched && !ends_with_regular_evaluation(before), changes, {length, end},
                    watcher + " depends on the evaluation at the end of the run");
  changes_course_if(watched && now.eval.every.unit == Duration::Unit::run, changes, {length, end},
                    "eval.every is a share of the run");
  changes_course_if(hooks_depend, changes, {length, end}, "a hook depends on the length of the run");
  changes_course_if(schedule_depends_on_length(now.scheduler), changes, {length},
                    "the schedule depends on the length of the run");
}

// Without those that only observe.
Array deciding_hooks(const std::vector<Part<HookKind>>& hooks) {
  Array deciding;
  for (const Part<HookKind>& hook : hooks)
    if (!hook.facts().only_observes) deciding.push_back(hook.encode());
  return deciding;
}

void judge_hooks(std::vector<RecipeChange>& changes, const Array& before, const Array& now) {
  if (!std::ranges::equal(before, now, same_data)) return;
  for (RecipeChange& change : changes) {
    if (!is_in(change, HookKind::name) || change.effect != OnResume::course) continue;
    change.effect = OnResume::harmless;
    change.why = "the hooks that differ only observe";
  }
}

bool loads(Stateful& now, const State& saved) {
  try {
    now.load(saved);
    return true;
  } catch (const StateError&) {
    return false;
  }
}

// With and without momentum, for example, the saved tensors differ. Tried with one small parameter.
bool optimizer_fits(const Part<OptimizerKind>& before, const Part<OptimizerKind>& now) {
  const torch::Tensor weight = torch::zeros({2, 2}).requires_grad_();
  weight.mutable_grad() = torch::zeros({2, 2});
  const OptimizerInputs inputs{{{.names = {"weight"}, .parameters = {weight}}}};
  const auto earlier = before.build(inputs), later = now.build(inputs);
  earlier->step(1.0);
  return loads(*later, earlier->save());
}

bool schedule_fits(const Part<SchedulerKind>& before, const Part<SchedulerKind>& now) {
  constexpr std::int64_t any_length = std::int64_t{1} << 40;
  constexpr double steps_per_epoch = 1000;
  LearningRate earlier(before, any_length, steps_per_epoch), later(now, any_length, steps_per_epoch);
  return loads(later.schedule(), earlier.schedule().save());
}

// fp16 has a loss scale, fp8 the magnitudes of each layer, others nothing.
bool precision_fits(const Part<PrecisionKind>& before, const Part<PrecisionKind>& now) {
  torch::nn::Sequential model(torch::nn::Linear(32, 32)), same_model(torch::nn::Linear(32, 32));
  const auto earlier = before.build({}), later = now.build({});
  earlier->prepare(*model);
  later->prepare(*same_model);
  return loads(*later, earlier->save());
}

// Compared by their position in the recipe, by which checkpoints name them.
bool hooks_fit(const std::vector<Part<HookKind>>& before, const std::vector<Part<HookKind>>& now) {
  const auto keeps_state = [](const std::vector<Part<HookKind>>& hooks, std::size_t i) {
    return i < hooks.size() && hooks[i].facts().keeps_state;
  };
  for (std::size_t i = 0; i < std::max(before.size(), now.size()); ++i) {
    const bool old_state = keeps_state(before, i), new_state = keeps_state(now, i);
    if (old_state != new_state || (old_state && before[i].name() != now[i].name())) return false;
  }
  return true;
}

template <class Fits>
void judge_state(std::vector<RecipeChange>& changes, std::string_view section, Fits fits) {
  const auto here = [&](const RecipeChange& change) { return is_in(change, section); };
  if (std::ranges::none_of(changes, here)) return;
  try {
    if (fits()) return;
  } catch (const std::exception&) {
    return;  // it cannot be built without the model and the data: only loading the state will tell
  }
  for (RecipeChange& change : changes)
    if (here(change) && change.effect == OnResume::course) change.effect = OnResume::fixed;
}

}  // namespace

void judge_by_components(std::vector<RecipeChange>& changes, const Value& before, const Value& now,
                         const Registry& registry) {
  const auto is_judged = [](const RecipeChange& change) {
    return std::ranges::any_of(judged, [&](std::string_view section) { return is_in(change, section); });
  };
  if (std::ranges::none_of(changes, is_judged)) return;
  const Recipe later = decode_table<Recipe>(now, registry), earlier = earlier_recipe(before, now, registry);
  judge_dependencies(changes, earlier, later, hooks_depend_on_length(now, registry));
  judge_state(changes, OptimizerKind::name,
              [&] { return optimizer_fits(earlier.optimizer, later.optimizer); });
  judge_state(changes, SchedulerKind::name,
              [&] { return schedule_fits(earlier.scheduler, later.scheduler); });
  judge_state(changes, PrecisionKind::name,
              [&] { return precision_fits(earlier.precision, later.precision); });
  judge_state(changes, HookKind::name, [&] { return hooks_fit(earlier.hook, later.hook); });
  const Value* hooks = before.as<Table>()->find(HookKind::name);
  if (!hooks || can_be_decoded(*hooks))
    judge_hooks(changes, deciding_hooks(earlier.hook), deciding_hooks(later.hook));
}

}  // namespace runner
