#pragma once

#include <torch/types.h>

#include <memory>

#include "components/contract/tokenizer.hpp"

namespace runner {

// Sentences as rows of `length` tokens each: longer ones are truncated, shorter ones padded.
class SentenceEncoder {
 public:
  SentenceEncoder(std::unique_ptr<Tokenizer> tokenizer, std::int64_t length)
      : tokenizer_(std::move(tokenizer)), length_(length) {}

  // If the tokenizer has no padding token, one is added.
  std::int64_t vocabulary() const { return tokenizer_->vocabulary() + (tokenizer_->padding() ? 0 : 1); }
  std::int64_t length() const { return length_; }
  const Tokenizer& tokenizer() const { return *tokenizer_; }

  // Between 1 and `length` tokens, including the tokenizer's prefix and suffix. `whole`: how many there are
  // before the sentence is truncated.
  std::vector<Token> encode(std::string_view sentence, std::int64_t* whole = nullptr) const;
  // Writes one row; the mask is false for padding.
  void fill(std::span<const Token> tokens, std::int64_t* row, bool* mask) const;

 private:
  Token padding() const {
    return tokenizer_->padding().value_or(static_cast<Token>(tokenizer_->vocabulary()));
  }

  std::unique_ptr<Tokenizer> tokenizer_;
  std::int64_t length_;
};

}  // namespace runner
