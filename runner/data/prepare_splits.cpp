#include "runner/data/prepare_splits.hpp"

#include <algorithm>
#include <cmath>

#include "components/datasets/selection.hpp"
#include "registry/base/log.hpp"
#include "runner/data/overfit.hpp"

namespace runner {

namespace {

std::uint64_t example_seed_of(const DatasetCommon& common) {
  return static_cast<std::uint64_t>(common.example_seed.value_or(1));
}

std::string how_chosen(const Split& split) {
  return split.class_of(0) ? "a random sample with the same share of each class" : "a random sample";
}

void limit(std::unique_ptr<Split>& split, std::optional<std::int64_t> most, const DatasetCommon& common,
           const char* key) {
  if (!split || !most || *most >= split->size()) return;
  log::info("dataset.{}: {} of {} examples are used, {}.", key, *most, split->size(), how_chosen(*split));
  auto chosen = random_sample(*split, *most, example_seed_of(common));
  split = selection(std::move(split), std::move(chosen));
}

bool differs_in_evaluation(const TransformPipeline& transforms) {
  return std::ranges::any_of(transforms,
                             [](const TransformStep& step) { return step.training != step.evaluation; });
}

// The training set, read like a validation set: without augmentation.
std::shared_ptr<const Split> for_evaluation(const Dataset& dataset, TransformPipeline transforms) {
  for (TransformStep& step : transforms) step.training = step.evaluation;
  return dataset.open(transforms).train;
}

void take_validation(Splits& data, const Dataset& dataset, const TransformPipeline& transforms,
                     const DatasetCommon& common) {
  if (!data.train->examples_are_fixed()) {
    throw DataError(
        "dataset.validation takes examples out of the training set, but this one is read from random places, "
        "which overlap: set dataset.random_offset = false, or let the dataset split itself (dataset.split).");
  }
  const std::int64_t size = data.train->size();
  const auto count = static_cast<std::int64_t>(std::llround(*common.validation * static_cast<double>(size)));
  if (count < 1 || count >= size) {
    throw DataError(log::format("dataset.validation = {} of {} training examples leaves no examples for {}.",
                                *common.validation, size, count < 1 ? "validation" : "training"));
  }
  // A class with one example is trained on: nothing could be learnt of it otherwise.
  std::vector<std::int64_t> chosen = random_sample(*data.train, count, example_seed_of(common), 1);
  if (chosen.empty())
    throw DataError("dataset.validation leaves no examples for validation: every class has only one.");
  std::ranges::sort(chosen);
  std::vector<std::int64_t> rest;
  for (std::int64_t index = 0; index < size; ++index) {
    if (!std::ranges::binary_search(chosen, index)) rest.push_back(index);
  }
  log::info("dataset.validation: {} of {} training examples are kept for evaluation, {}.", chosen.size(),
            size, how_chosen(*data.train));
  const std::shared_ptr<const Split> train = std::move(data.train);
  data.eval = selection(differs_in_evaluation(transforms) ? for_evaluation(dataset, transforms) : train,
                        std::move(chosen));
  data.train = selection(train, std::move(rest));
}

}  // namespace

Splits prepare_splits(const Dataset& dataset, const SplitRules& rules) {
  return prepare_splits(dataset, rules, build_pipeline(rules.common.transform, dataset.spec()));
}

Splits prepare_splits(const Dataset& dataset, const SplitRules& rules, const TransformPipeline& transforms) {
  const DatasetCommon& common = rules.common;
  Splits data = dataset.open(transforms);
  if (!data.train || data.train->size() == 0) throw DataError("the dataset has no training examples");
  if (common.validation) take_validation(data, dataset, transforms, common);
  limit(data.train, common.train_limit, common, "train_limit");
  limit(data.eval, common.eval_limit, common, "eval_limit");
  if (rules.overfit_examples) {
    overfit(data, *rules.overfit_examples, example_seed_of(common));
    log::info(
        "loader.overfit_batches: the run trains on {} training examples, {}, over and over, and evaluates on "
        "the same.",
        data.eval->size(), how_chosen(*data.eval));
  }
  return data;
}

}  // namespace runner
