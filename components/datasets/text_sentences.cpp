#include "components/datasets/text_sentences.hpp"

#include <algorithm>

#include "components/datasets/token_cache.hpp"
#include "components/tokenizers/code_points.hpp"
#include "registry/base/log.hpp"
#include "registry/base/wording.hpp"

namespace runner {

DataSpec sentence_spec(const SentenceEncoder& encoder, const std::vector<std::string>& classes) {
  DataSpec spec;
  spec.input_shape = {encoder.length()};
  spec.input_type = torch::kInt64;
  spec.vocabulary = encoder.vocabulary();
  spec.classes = static_cast<std::int64_t>(classes.size());
  spec.class_names = classes;
  return spec;
}

SentenceSplit::SentenceSplit(std::shared_ptr<const SentenceEncoder> encoder,
                             const LabelledSentences& sentences)
    : encoder_(std::move(encoder)),
      spec_(sentence_spec(*encoder_, sentences.classes)),
      labels_(sentences.labels) {
  SentenceTokens all = cached_tokens(*encoder_, sentences.texts);
  tokens_ = std::move(all.tokens);
  ends_ = std::move(all.ends);
  lengths_ = std::move(all.lengths);
}

void SentenceSplit::warn_of_cut_texts(const std::string& origin) const {
  const auto cut =
      std::ranges::count_if(lengths_, [&](std::int64_t one) { return one > encoder_->length(); });
  if (cut == 0) return;
  std::vector<std::int64_t> sorted = lengths_;
  std::ranges::sort(sorted);
  const std::int64_t most = sorted[(sorted.size() * 99 + 99) / 100 - 1], longest = sorted.back();
  const auto share = std::max<std::int64_t>(1, 100 * cut / std::ssize(lengths_));
  log::warning(
      "{}: {} of {} training texts ({} %) have more than dataset.length = {} tokens and are cut there. {}",
      origin, cut, lengths_.size(), share, encoder_->length(),
      most > encoder_->length() && most < longest
          ? log::format("dataset.length = {} leaves 99 % of the texts whole, {} all.", most, longest)
          : log::format("dataset.length = {} leaves all of them whole.", longest));
}

Batch SentenceSplit::allocate(std::int64_t examples, torch::MemoryFormat format) const {
  Batch batch = Split::allocate(examples, format);
  batch.extra["mask"] = torch::empty({examples, encoder_->length()}, torch::kBool);
  return batch;
}

void SentenceSplit::read(std::span<const ExampleRef> examples, Batch& batch, std::int64_t first) const {
  auto* input = batch.input.data_ptr<std::int64_t>() + first * encoder_->length();
  auto* mask = batch.extra.at("mask").data_ptr<bool>() + first * encoder_->length();
  auto* target = batch.target.data_ptr<std::int64_t>() + first;
  for (const ExampleRef& example : examples) {
    const auto index = static_cast<std::size_t>(example.index);
    const std::size_t begin = index == 0 ? 0 : ends_[index - 1];
    encoder_->fill(std::span(tokens_).subspan(begin, ends_[index] - begin), input, mask);
    *target++ = labels_[index];
    input += encoder_->length();
    mask += encoder_->length();
  }
}

Batch SentenceInterpreter::read(std::span<const std::string> inputs) const {
  const auto count = static_cast<std::int64_t>(inputs.size());
  Batch batch;
  batch.input = torch::empty({count, encoder_.length()}, torch::kInt64);
  batch.extra["mask"] = torch::empty({count, encoder_.length()}, torch::kBool);
  auto* row = batch.input.data_ptr<std::int64_t>();
  auto* mask = batch.extra["mask"].data_ptr<bool>();
  for (const std::string& sentence : inputs) {
    check_utf8(sentence, "The sentence " + in_quotes(sentence));
    encoder_.fill(encoder_.encode(sentence), row, mask);
    row += encoder_.length();
    mask += encoder_.length();
  }
  return batch;
}

std::string SentenceInterpreter::text(std::span<const std::int64_t> tokens) const {
  std::vector<Token> known;  // padding may be beyond the vocabulary
  for (const std::int64_t token : tokens) {
    if (token < encoder_.tokenizer().vocabulary()) known.push_back(static_cast<Token>(token));
  }
  return encoder_.tokenizer().decode(known);
}

}  // namespace runner
