#pragma once

#include <memory>
#include <span>

#include "components/contract/tokenizer.hpp"

namespace runner {

// Many tokens in the fewest bytes that the vocabulary allows; or the bytes of a mapped file as they are.
class TokenStore {
 public:
  explicit TokenStore(std::int64_t vocabulary);
  // Bytes from take_bytes(), which the caller keeps; with a vocabulary of up to 256, each byte is a token.
  TokenStore(std::span<const std::uint8_t> bytes, std::shared_ptr<const void> owner, std::int64_t vocabulary);

  void append(std::span<const Token> tokens);
  std::int64_t size() const { return size_; }
  void copy(std::int64_t first, std::int64_t count, std::int64_t* out) const;
  std::vector<std::uint8_t> take_bytes() { return std::move(own_); }  // of tokens that it keeps itself

 private:
  std::size_t width_ = 1;  // bytes a token
  std::int64_t size_ = 0;
  std::vector<std::uint8_t> own_;
  const std::uint8_t* borrowed_ = nullptr;
  std::shared_ptr<const void> owner_;
};

// The tokens of a whole text.
TokenStore encode_all(const Tokenizer& tokenizer, std::string_view text);

// The tokens as the tokenizer takes them. Throws DataError where one is not in its vocabulary.
std::vector<Token> in_vocabulary(const Tokenizer& tokenizer, std::span<const std::int64_t> tokens);

}  // namespace runner
