#include "runner/train/evaluate.hpp"

#include <torch/types.h>

#include "registry/base/arithmetic.hpp"
#include "registry/base/log.hpp"
#include "runner/engine/strategies/pack_state.hpp"
#include "runner/train/feed.hpp"
#include "runner/train/kept_weights.hpp"

namespace runner {

namespace {

// Each rank has measured its part of the batches. Merges them in the order of the data.
void merge_across_ranks(const std::vector<std::unique_ptr<Metric>>& metrics, World& world) {
  if (world.alone()) return;
  State own;
  for (std::size_t i = 0; i < metrics.size(); ++i) own.parts[std::to_string(i)] = metrics[i]->accumulated();
  const std::vector<std::string> all = world.gather_texts(pack(own), "what metrics have measured");
  for (const auto& metric : metrics) metric->reset();
  for (const std::string& rank : all) {
    const State theirs = unpack(rank);
    for (std::size_t i = 0; i < metrics.size(); ++i) metrics[i]->merge(theirs.parts.at(std::to_string(i)));
  }
}

// How many examples all ranks have evaluated and skipped.
void count_examples(Evaluation& result, World& world) {
  const torch::Tensor counts = torch::tensor(
      {static_cast<double>(result.examples), static_cast<double>(result.unreadable)}, torch::kFloat64);
  world.all_reduce(counts, Reduction::sum, "how many examples were evaluated");
  result.examples = counts[0].item<std::int64_t>();
  result.unreadable = counts[1].item<std::int64_t>();
}

// Finds NaN in outputs: most metrics count it as an answer, and some even as a right one.
class OutputCheck {
 public:
  void add(const torch::Tensor& output) {
    ++batches_;
    if (!output.is_floating_point() || output.numel() == 0) return;
    const torch::Tensor bad = output.max().isnan().to(torch::kFloat64);
    not_numbers_ = not_numbers_.defined() ? not_numbers_ + bad : bad;  // stays on the device
  }

  // Every rank takes part.
  void warn(const std::string& weights, World& world) const {
    const double own = not_numbers_.defined() ? not_numbers_.item<double>() : 0;
    const torch::Tensor counts = torch::tensor({own, batches_}, torch::kFloat64);
    world.all_reduce(counts, Reduction::sum, "how many outputs are not numbers");
    const double found = counts[0].item<double>(), all = counts[1].item<double>();
    if (found == 0 || !world.is_main()) return;
    log::warning(
        "{}: outputs of the model are not numbers (NaN) in {} of {} batches of the validation set, so the "
        "metrics mean nothing. `runner data` says whether the inputs are the reason.",
        weights, found, all);
  }

 private:
  torch::Tensor not_numbers_;
  double batches_ = 0;
};

}  // namespace

Evaluation evaluate(Run& run, std::optional<std::int64_t> most_batches, const Evaluating& evaluating,
                    const std::string& weights) {
  Evaluation result;
  if (!run.data.eval || run.metrics.empty()) return result;
  for (const auto& metric : run.metrics) metric->reset();
  // Each rank evaluates a part of the batches; the batches are the same as for a single rank.
  World& world = run.engine.world();
  const LoaderOptions options = evaluation_options(run.recipe, run.engine);
  const std::int64_t all = divide_up(run.data.eval->size(), options.batch_size);
  const std::int64_t used = std::min(all, most_batches.value_or(all));
  const std::int64_t first = used * world.rank() / world.size();
  const std::int64_t batches = used * (world.rank() + 1) / world.size() - first;
  Loader loader(*run.data.eval, options, {0, std::min(first * options.batch_size, run.data.eval->size())});
  bool broken_off = false;
  OutputCheck outputs;
  for (std::int64_t count = 0; count < batches; ++count) {
    broken_off = !evaluating(static_cast<double>(count) / static_cast<double>(batches));
    if (broken_off) break;
    auto loaded = loader.next();
    result.examples += loaded->batch.size();
    if (loaded->batch.size() == 0) continue;  // none of its examples could be read
    const torch::Tensor output = run.engine.predict(loaded->batch);
    outputs.add(output);
    for (const auto& metric : run.metrics) metric->update(output, loaded->batch);
    if (weights != "eval") continue;
    for (const auto& hook : run.hooks) hook->after_eval_batch(loaded->batch, output);
  }
  run.engine.finish_passes();
  if (world.any(broken_off, "whether the evaluation was broken off")) return {.broken_off = true};
  result.unreadable = loader.unreadable_examples();
  count_examples(result, world);
  // Other weights are evaluated on the same examples.
  if (result.unreadable > 0 && weights == "eval" && world.is_main())
    log::warning("{} of {} validation examples could not be read, and were skipped.", result.unreadable,
                 result.examples + result.unreadable);
  outputs.warn(weights, world);
  merge_across_ranks(run.metrics, world);
  for (std::size_t i = 0; i < run.metrics.size(); ++i) {
    for (auto& [name, value] : run.metrics[i]->compute())
      result.measurements.emplace_back(weights + "/" + name, value);
    std::string text = run.metrics[i]->text();
    if (!text.empty())
      result.texts.emplace_back(weights + "/" + run.recipe.eval.metric[i].name(), std::move(text));
  }
  return result;
}

Evaluation evaluate_all(Run& run, std::optional<std::int64_t> most_batches, const Evaluating& evaluating) {
  Evaluation all = evaluate(run, most_batches, evaluating);
  if (all.broken_off) return all;  // before batch-norm statistics are recomputed, which takes many passes
  for (const KeptWeights* weights : kept_weights(run)) {
    if (weights->tensors.empty()) continue;
    const KeptWeightsInPlace in_place(run, *weights);
    Evaluation more = evaluate(run, most_batches, evaluating, weights->name);
    if (more.broken_off) return more;
    std::ranges::move(more.measurements, std::back_inserter(all.measurements));
    std::ranges::move(more.texts, std::back_inserter(all.texts));
  }
  return all;
}

}  // namespace runner
