#include "components/datasets/sentence_encoder.hpp"

#include <algorithm>

namespace runner {

std::vector<Token> SentenceEncoder::encode(std::string_view sentence, std::int64_t* whole) const {
  const std::vector<Token> prefix = tokenizer_->prefix(), suffix = tokenizer_->suffix();
  const std::size_t around = prefix.size() + suffix.size(), most = static_cast<std::size_t>(length_);
  std::vector<Token> tokens = prefix;
  tokenizer_->encode(sentence, tokens);
  if (whole) *whole = std::ssize(tokens) + std::ssize(suffix);
  tokens.resize(std::min(tokens.size(), prefix.size() + (most > around ? most - around : 0)));
  tokens.insert(tokens.end(), suffix.begin(), suffix.end());
  tokens.resize(std::min(tokens.size(), most));
  if (tokens.empty()) tokens.push_back(padding());  // models need at least one token
  return tokens;
}

void SentenceEncoder::fill(std::span<const Token> tokens, std::int64_t* row, bool* mask) const {
  for (std::size_t i = 0; i < static_cast<std::size_t>(length_); ++i) {
    mask[i] = i < tokens.size();
    row[i] = mask[i] ? tokens[i] : padding();
  }
}

}  // namespace runner
