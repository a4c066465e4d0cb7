#pragma once

#include "components/datasets/dataset.hpp"
#include "components/datasets/read/labelled_sentences.hpp"
#include "components/datasets/sentence_encoder.hpp"

namespace runner {

DataSpec sentence_spec(const SentenceEncoder& encoder, const std::vector<std::string>& classes);

// Sentences with their classes, kept as tokens. The batch has a "mask" [examples, length]: true for tokens,
// false for padding.
class SentenceSplit final : public Split {
 public:
  SentenceSplit(std::shared_ptr<const SentenceEncoder> encoder, const LabelledSentences& sentences);

  std::int64_t size() const override { return static_cast<std::int64_t>(labels_.size()); }
  DataSpec spec() const override { return spec_; }
  SplitDetails details() const override {
    return {.unknown_token = encoder_->tokenizer().unknown(),
            .untruncated_length = [this](std::int64_t index) {
              return lengths_[static_cast<std::size_t>(index)];
            }};
  }
  // Texts that are longer than the encoder's length lose their end: says how many, and which length keeps
  // them.
  void warn_of_cut_texts(const std::string& origin) const;
  Batch allocate(std::int64_t examples, torch::MemoryFormat format) const override;
  void read(std::span<const ExampleRef> examples, Batch& batch, std::int64_t first) const override;
  std::optional<std::int64_t> class_of(std::int64_t index) const override {
    return labels_[static_cast<std::size_t>(index)];
  }

 private:
  std::shared_ptr<const SentenceEncoder> encoder_;
  DataSpec spec_;
  std::vector<Token> tokens_;
  std::vector<std::size_t> ends_;      // of each sentence in tokens_
  std::vector<std::int64_t> lengths_;  // of each sentence before it was truncated
  std::vector<std::int64_t> labels_;
};

// An input is a sentence.
class SentenceInterpreter : public Interpreter {
 public:
  explicit SentenceInterpreter(SentenceEncoder encoder) : encoder_(std::move(encoder)) {}

  Batch read(std::span<const std::string> inputs) const override;
  std::string text(std::span<const std::int64_t> tokens) const override;

 private:
  SentenceEncoder encoder_;
};

}  // namespace runner
