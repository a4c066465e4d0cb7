#include "runner/inspect/trial_evaluation.hpp"

#include <algorithm>
#include <functional>
#include <stdexcept>

#include "components/torch/torch_error.hpp"
#include "registry/base/wording.hpp"
#include "runner/recipe/measurements.hpp"

namespace runner {

namespace {

void named(const std::string& part, const std::function<void()>& work) {
  try {
    work();
  } catch (const std::exception& error) {
    throw std::runtime_error(part + ": " + reason_of(error));
  }
}

Measurements measure(const Recipe& recipe, const std::vector<std::unique_ptr<Metric>>& metrics,
                     const Batch& batch, const torch::Tensor& output) {
  Measurements all;
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    named("eval.metric " + in_quotes(recipe.eval.metric[i].name()), [&] {
      metrics[i]->reset();
      metrics[i]->update(output, batch);
      for (auto& [name, value] : metrics[i]->compute()) all.emplace_back("eval/" + name, value);
      metrics[i]->text();
      metrics[i]->reset();
    });
  }
  return all;
}

// For metrics whose names were not known before they were computed.
void require_watched(const Recipe& recipe, const Measurements& measurements) {
  std::vector<Measured> found;
  for (const auto& [name, value] : measurements) found.push_back({name});
  const auto promised = measurements_of(recipe);
  for (const Watcher& watcher : watchers_of(recipe)) {
    const Measured* known = find_measured(promised, watcher.watched.metric);
    const bool open = known && known->name.ends_with('*');
    if (open && !find_measured(found, watcher.watched.metric))
      throw std::runtime_error(watcher.section + " " + watcher.does + problem_of(watcher.watched, found));
  }
}

}  // namespace

void try_evaluation(const Recipe& recipe, const std::vector<std::unique_ptr<Metric>>& metrics,
                    const std::vector<std::unique_ptr<Hook>>& hooks, const Batch& batch,
                    const torch::Tensor& output) {
  const torch::NoGradGuard no_grad;
  const Measurements measurements = measure(recipe, metrics, batch, output);
  require_watched(recipe, measurements);
  for (std::size_t i = 0; i < hooks.size(); ++i) {
    Hook& hook = *hooks[i];
    if (hook.kept_weights()) continue;  // it works on weights, which are not used here
    named("hook " + in_quotes(recipe.hook[i].name()), [&] {
      const State before = hook.save().copy();
      Requests requests;
      hook.after_eval_batch(batch, output);
      hook.after_eval({}, measurements, requests);
      hook.load(before);
    });
  }
}

}  // namespace runner
