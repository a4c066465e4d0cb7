#pragma once

#include <memory>
#include <span>

#include "components/contract/tokenizer.hpp"

namespace runner {

// Tokens in one, two or four bytes each, depending on the vocabulary; in memory or in a mapped file.
class TokenStore {
 public:
  explicit TokenStore(std::int64_t vocabulary);
  // Uses bytes from take_bytes(), kept alive by `owner`; up to a vocabulary of 256, each byte is a token.
  TokenStore(std::span<const std::uint8_t> bytes, std::shared_ptr<const void> owner, std::int64_t vocabulary);

  void append(std::span<const Token> tokens);
  std::int64_t size() const { return size_; }
  void copy(std::int64_t first, std::int64_t count, std::int64_t* out) const;
  std::vector<std::uint8_t> take_bytes() { return std::move(own_); }  // if it owns them

 private:
  std::size_t width_ = 1;  // bytes per token
  std::int64_t size_ = 0;
  std::vector<std::uint8_t> own_;
  const std::uint8_t* borrowed_ = nullptr;
  std::shared_ptr<const void> owner_;
};

// The tokens of a whole text.
TokenStore encode_all(const Tokenizer& tokenizer, std::string_view text);

// Converts them to tokens. Throws DataError if one is not in the tokenizer's vocabulary.
std::vector<Token> in_vocabulary(const Tokenizer& tokenizer, std::span<const std::int64_t> tokens);

}  // namespace runner
