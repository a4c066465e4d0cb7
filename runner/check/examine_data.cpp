#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>

#include "components/contract/example_random.hpp"
#include "components/images/image_uri.hpp"
#include "registry/base/log.hpp"
#include "registry/base/wording.hpp"
#include "runner/check/data_findings.hpp"
#include "runner/data/prepare_splits.hpp"
#include "runner/recipe/parts.hpp"
#include "runner/terminal/format.hpp"

namespace runner {

namespace {

constexpr std::int64_t shown_images = 24, shown_texts = 6;
constexpr std::size_t listed_duplicates = 20;

// The target as text: a class, a mixture of the two largest classes, or a number.
std::string label_text(const torch::Tensor& target, const DataSpec& data) {
  if (target.dim() == 0 && !target.is_floating_point()) return data.class_name(target.item<std::int64_t>());
  if (target.dim() == 0) return measured(target.item<double>());
  if (target.dim() != 1 || !target.is_floating_point() || target.size(0) != data.classes) return "";
  const auto [shares, classes] = target.topk(std::min<std::int64_t>(2, data.classes));
  std::vector<std::string> largest;
  for (std::int64_t i = 0; i < shares.size(0) && shares[i].item<double>() > 0; ++i) {
    largest.push_back(data.class_name(classes[i].item<std::int64_t>()) + " " +
                      measured(shares[i].item<double>()));
  }
  return joined(largest);
}

// One random choice from each of `count` equal ranges. Not evenly spaced: files often alternate the classes.
std::vector<std::int64_t> some_of(const std::vector<std::int64_t>& examples, std::int64_t count) {
  std::vector<std::int64_t> chosen;
  ExampleRandom random(0);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t begin = i * std::ssize(examples) / count, end = (i + 1) * std::ssize(examples) / count;
    chosen.push_back(examples[static_cast<std::size_t>(begin + random.below(end - begin))]);
  }
  return chosen;
}

// Some of the readable examples, as the data loader of a run produces them in the first epoch.
std::vector<ShownExample> shown_examples(const Split& train, const Interpreter& interpreter,
                                         std::uint64_t seed, const SetFindings& found) {
  const DataSpec data = train.spec();
  const bool images = data.input_shape.size() == 3 && data.images, tokens = data.vocabulary > 0;
  std::vector<ShownExample> shown;
  if ((!images && !tokens) || found.examined.empty()) return shown;
  const std::int64_t count = std::min(images ? shown_images : shown_texts, std::ssize(found.examined));
  std::vector<ExampleRef> chosen;
  for (const std::int64_t index : some_of(found.examined, count))
    chosen.push_back({index, example_seed(seed, 0, static_cast<std::uint64_t>(index))});
  Batch batch = train.allocate(count, torch::MemoryFormat::Contiguous);
  train.read(chosen, batch, 0);
  train.finish(batch, seed);
  for (std::int64_t i = 0; i < count; ++i) {
    ShownExample example{label_text(batch.target[i], data)};
    if (images) example.image = image_uri(batch.input[i], data);
    if (tokens) {
      torch::Tensor row = batch.input[i];
      if (const auto mask = batch.extra.find("mask"); mask != batch.extra.end())
        row = row.masked_select(mask->second[i]);
      const torch::Tensor ids = row.contiguous();
      example.text =
          interpreter.text({ids.const_data_ptr<std::int64_t>(), static_cast<std::size_t>(ids.numel())});
    }
    shown.push_back(std::move(example));
  }
  return shown;
}

bool same_content(const Batch& one, const Batch& other) {
  if (!torch::equal(one.input, other.input)) return false;
  return std::ranges::all_of(one.extra, [&](const auto& named) {
    const auto match = other.extra.find(named.first);
    return match != other.extra.end() && torch::equal(named.second, match->second);
  });
}

void find_duplicates(const Split& train, const Split& eval, DataFindings& found) {
  const SetFindings &of_train = found.sets[0], &of_eval = found.sets[1];
  if (of_train.spec.input_shape != of_eval.spec.input_shape) return;
  for (std::size_t i = 0; i < of_eval.examined.size(); ++i) {
    const auto match = of_train.contents.find(of_eval.content_of[i]);
    if (match == of_train.contents.end()) continue;
    const Batch theirs = read_example(eval, of_eval.examined[i]);
    if (!same_content(read_example(train, match->second), theirs)) continue;
    ++found.duplicate_count;
    if (found.duplicates.size() < listed_duplicates) {
      found.duplicates.push_back(
          {match->second, of_eval.examined[i], label_text(theirs.target[0], of_eval.spec)});
    }
  }
}

// Applies the transforms of evaluation to both sets, so that equal examples stay equal.
TransformPipeline without_augmentation(TransformPipeline pipeline) {
  for (TransformStep& step : pipeline) step.training = step.evaluation;
  return pipeline;
}

}  // namespace

DataFindings examine_data(const Recipe& recipe, std::int64_t most_examples, std::int64_t shown_tokens) {
  const torch::NoGradGuard no_grad;
  const auto seed = static_cast<std::uint64_t>(recipe.run.seed);
  const auto dataset = build_dataset(recipe);
  const TransformPipeline pipeline = recipe.dataset.common.transform.empty()
                                         ? TransformPipeline{}
                                         : build_pipeline(recipe.dataset.common.transform, dataset->spec());
  const std::size_t warned = log::warnings().size();
  const Splits plain = prepare_splits(*dataset, {recipe.dataset.common, {}}, without_augmentation(pipeline));
  DataFindings found;
  const auto warnings = log::warnings();  // what a run would warn about, too
  found.notes.assign(warnings.begin() + static_cast<std::ptrdiff_t>(std::min(warned, warnings.size())),
                     warnings.end());
  found.dataset = recipe.dataset.name();
  found.stand_in = plain.stand_in;
  found.sets.push_back(examine_set(*plain.train, "training", most_examples));
  if (plain.eval) {
    found.sets.push_back(examine_set(*plain.eval, "validation", most_examples));
    find_duplicates(*plain.train, *plain.eval, found);
  }
  for (std::int64_t i = 0; i < std::min(shown_tokens, plain.train->size()); ++i)
    if (auto tokens = plain.train->tokens_of(i)) found.tokens.push_back(std::move(*tokens));
  const auto interpreter = dataset->interpreter(pipeline, plain.learned);
  const bool augmented = std::ranges::any_of(
      pipeline, [](const TransformStep& step) { return step.training != step.evaluation; });
  const Splits real = augmented ? prepare_splits(*dataset, {recipe.dataset.common, {}}, pipeline) : Splits{};
  try {
    found.examples =
        shown_examples(augmented ? *real.train : *plain.train, *interpreter, seed, found.sets[0]);
  } catch (const DataError& error) {
    found.notes.push_back(std::string("No examples are shown: ") + error.what());
  }
  find_problems(found);
  return found;
}

}  // namespace runner
