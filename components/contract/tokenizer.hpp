#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace runner {

using Token = std::uint32_t;

// Text as numbers, and back. Several threads may use one at once.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  virtual std::int64_t vocabulary() const = 0;  // every token is below this
  // Appends the tokens of a text, which is UTF-8. Throws DataError where the vocabulary has no words for it.
  virtual void encode(std::string_view text, std::vector<Token>& tokens) const = 0;
  // Tokens are below vocabulary(). Bytes that are no UTF-8 together become U+FFFD.
  virtual std::string decode(std::span<const Token> tokens) const = 0;
  virtual std::string json() const = 0;  // what read_tokenizer() makes the same tokenizer from

  // What a sentence is put between and filled up with, where the vocabulary has tokens for that.
  virtual std::vector<Token> prefix() const { return {}; }
  virtual std::vector<Token> suffix() const { return {}; }
  virtual std::optional<Token> padding() const { return std::nullopt; }
  // What stands for text that the vocabulary has no words for.
  virtual std::optional<Token> unknown() const { return std::nullopt; }
};

}  // namespace runner
