#include "runner/train/evaluate.hpp"

#include "runner/train/feed.hpp"
#include "runner/train/kept_weights.hpp"

namespace runner {

Evaluation evaluate(Run& run, std::optional<std::int64_t> most_batches,
                    const std::function<void(double)>& done, const std::string& weights) {
  Evaluation result;
  if (!run.data.eval || run.metrics.empty()) return result;
  for (const auto& metric : run.metrics) metric->reset();
  Loader loader(*run.data.eval, evaluation_options(run.recipe, run.engine));
  const std::int64_t batches =
      std::min(loader.batches_per_epoch(), most_batches.value_or(loader.batches_per_epoch()));
  for (std::int64_t count = 0; count < batches; ++count) {
    done(static_cast<double>(count) / static_cast<double>(batches));
    auto loaded = loader.next();
    if (loaded->batch.size() == 0) continue;  // none of its examples could be read
    const torch::Tensor output = run.engine.predict(loaded->batch);
    for (const auto& metric : run.metrics) metric->update(output, loaded->batch);
    if (weights != "eval") continue;
    for (const auto& hook : run.hooks) hook->after_eval_batch(loaded->batch, output);
  }
  for (std::size_t i = 0; i < run.metrics.size(); ++i) {
    for (auto& [name, value] : run.metrics[i]->compute())
      result.measurements.emplace_back(weights + "/" + name, value);
    std::string text = run.metrics[i]->text();
    if (!text.empty())
      result.texts.emplace_back(weights + "/" + run.recipe.eval.metric[i].name(), std::move(text));
  }
  return result;
}

Evaluation evaluate_all(Run& run, std::optional<std::int64_t> most_batches,
                        const std::function<void(double)>& done) {
  Evaluation all = evaluate(run, most_batches, done);
  for (const KeptWeights* weights : kept_weights(run)) {
    if (weights->tensors.empty()) continue;
    const KeptWeightsInPlace in_place(run, *weights);
    Evaluation more = evaluate(run, most_batches, done, weights->name);
    std::ranges::move(more.measurements, std::back_inserter(all.measurements));
    std::ranges::move(more.texts, std::back_inserter(all.texts));
  }
  return all;
}

}  // namespace runner
