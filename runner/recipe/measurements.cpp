#include "runner/recipe/measurements.hpp"

#include <algorithm>
#include <stdexcept>

#include "registry/base/log.hpp"
#include "registry/base/wording.hpp"
#include "registry/registry.hpp"

namespace runner {

namespace {

std::vector<Measured> measured_by(const EvalSection& eval) {
  std::vector<Measured> all;
  for (const auto& metric : eval.metric) {
    std::vector<Measured> own = metric.facts().measures;
    if (own.empty()) own.push_back({"*"});  // it does not say
    std::ranges::move(own, std::back_inserter(all));
  }
  return all;
}

// "; losses for these: huber, l1, mse": the components that are made for such targets.
template <Kind K>
std::string made_for(const std::vector<Targets>& targets, std::string_view plural) {
  const Registry registry = Registry::of_linked();
  std::vector<std::string> names;
  for (const Descriptor* component : registry.of_kind(K::name)) {
    const std::vector<Targets> understood = facts_of<K>(*component, registry).targets;
    if (!understood.empty() && shared_targets(understood, targets)) names.emplace_back(component->name);
  }
  return names.empty() ? "" : "; " + std::string(plural) + " for these: " + joined(names);
}

// `given`: the targets that are left for metrics to be made for.
std::string disagreement(const Part<MetricKind>& metric, const Part<LossKind>& loss,
                         const std::vector<Targets>& given) {
  return "metric " + in_quotes(metric.name()) + " needs " + to_string(metric.facts().targets) +
         " as targets, but loss " + in_quotes(loss.name()) + " is for " + to_string(loss.facts().targets) +
         made_for<MetricKind>(given, "metrics");
}

// The meaning of the targets that the metric, the loss and the data agree on; none if the metric takes any.
// Throws RecipeError if they do not agree on one.
std::optional<Targets> targets_for(const Part<MetricKind>& metric, const Part<LossKind>& loss,
                                   const DataSpec& data) {
  const std::vector<Targets> understood = metric.facts().targets, given = possible_targets(data);
  // Even if the loss takes mixed targets, those of the validation set are classes.
  const auto by_loss = shared_targets(loss.facts().targets, given);
  if (!shared_targets(understood, given)) {
    throw RecipeError(metric.origin(), "metric " + in_quotes(metric.name()) + " needs " +
                                           to_string(understood) + " as targets, but the dataset gives " +
                                           to_string(given.front()) +
                                           made_for<MetricKind>({given.front()}, "metrics") + ".");
  }
  const auto shared = by_loss ? shared_targets(*by_loss, understood) : std::nullopt;
  if (!shared) throw RecipeError(metric.origin(), disagreement(metric, loss, by_loss.value_or(given)) + ".");
  if (understood.empty() || shared->empty()) return std::nullopt;
  return shared->front();
}

}  // namespace

std::vector<Measured> measurements_of(const Recipe& recipe) {
  std::vector<std::string> weights{"eval"};
  for (const auto& hook : recipe.hook) {
    if (std::string kept = hook.facts().keeps_weights; !kept.empty()) weights.push_back(std::move(kept));
  }
  std::vector<Measured> all;
  for (const std::string& name : weights) {
    for (const Measured& one : measured_by(recipe.eval)) all.push_back({name + "/" + one.name, one.better});
  }
  return all;
}

std::vector<Watcher> watchers_of(const Recipe& recipe) {
  std::vector<Watcher> all;
  for (const Watched& watched : recipe.scheduler.facts().watches)
    all.push_back({"scheduler", in_quotes(recipe.scheduler.name()) + " watches ", watched});
  for (const auto& hook : recipe.hook) {
    if (const auto watched = hook.facts().watches)
      all.push_back({"hook", in_quotes(hook.name()) + " watches ", *watched});
  }
  if (const auto& best = recipe.checkpoint.best)
    all.push_back({"checkpoint.best", "watches ", {best->metric, best->mode}});
  return all;
}

void require_targets(const Part<LossKind>& loss, const DataSpec& data) {
  const auto given = possible_targets(data);
  const auto shared = shared_targets(loss.facts().targets, given);
  if (!shared) {
    throw RecipeError(loss.origin(), "loss " + in_quotes(loss.name()) + " needs " +
                                         to_string(loss.facts().targets) +
                                         " as targets, but the dataset gives " + to_string(given.front()) +
                                         made_for<LossKind>({given.front()}, "losses") + ".");
  }
  if (data.classes == 1 && shared->front() == Targets::class_index)
    log::warning("The data has a single class, so every answer is right and nothing can be learnt.");
}

std::vector<std::unique_ptr<Metric>> build_metrics(const Recipe& recipe, const DataSpec& data,
                                                   const Loss& loss) {
  std::vector<std::unique_ptr<Metric>> metrics;
  for (const auto& part : recipe.eval.metric)
    metrics.push_back(
        part.build({data, &loss, targets_for(part, recipe.loss, data), recipe.loss.facts().ignore_index}));
  return metrics;
}

void check_measurements(const Recipe& recipe, Report& report) {
  std::vector<std::string> names;
  for (const Measured& one : measured_by(recipe.eval)) {
    if (one.name != "*" && std::ranges::find(names, one.name) != names.end())
      report.error("eval.metric",
                   "reports " + in_quotes("eval/" + one.name) + " twice; delete one of the metrics");
    names.push_back(one.name);
  }
  for (const auto& metric : recipe.eval.metric) {
    if (!shared_targets(recipe.loss.facts().targets, metric.facts().targets))
      report.error("eval",
                   "cannot be measured: " + disagreement(metric, recipe.loss, recipe.loss.facts().targets));
  }
  std::vector<std::string> kept;
  for (std::size_t i = 0; i < recipe.hook.size(); ++i) {
    const std::string own = recipe.hook[i].facts().keeps_weights;
    if (own.empty()) continue;
    if (std::ranges::find(kept, own) != kept.end())
      report.error("hook." + std::to_string(i),
                   "keeps weights named " + in_quotes(own) + ", as an earlier hook does: delete one of them");
    kept.push_back(own);
  }
  const auto measured = measurements_of(recipe);
  for (const auto& [section, does, watched] : watchers_of(recipe)) {
    if (recipe.eval.every.unit == Duration::Unit::never) {
      report.error(section, does + in_quotes(watched.metric) +
                                ", but with eval.every = \"never\" nothing is measured");
    } else if (const std::string problem = problem_of(watched, measured); !problem.empty()) {
      report.error(section, does + problem);
    }
  }
}

}  // namespace runner
