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

  // Padding is the tokenizer's, or one token more.
  std::int64_t vocabulary() const { return tokenizer_->vocabulary() + (tokenizer_->padding() ? 0 : 1); }
  std::int64_t length() const { return length_; }
  const Tokenizer& tokenizer() const { return *tokenizer_; }

  // Between 1 and `length` tokens, with those that begin and end a sentence.
  std::vector<Token> encode(std::string_view sentence) const;
  // Into one row; the mask says what is a token and what padding.
  void fill(std::span<const Token> tokens, std::int64_t* row, bool* mask) const;

 private:
  Token padding() const {
    return tokenizer_->padding().value_or(static_cast<Token>(tokenizer_->vocabulary()));
  }

  std::unique_ptr<Tokenizer> tokenizer_;
  std::int64_t length_;
};

}  // namespace runner
