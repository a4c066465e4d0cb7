#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace runner {

using Token = std::uint32_t;

// Converts text to tokens and back. Several threads may use it at once.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  virtual std::int64_t vocabulary() const = 0;  // every token is below this
  // Appends the tokens of a text, which is UTF-8. Throws DataError if the vocabulary cannot represent it.
  virtual void encode(std::string_view text, std::vector<Token>& tokens) const = 0;
  // Every token must be below vocabulary(). Bytes that are not valid UTF-8 become U+FFFD.
  virtual std::string decode(std::span<const Token> tokens) const = 0;
  virtual std::string json() const = 0;  // all that is needed to restore it: TokenizerInputs::learned

  // The tokens to put before and after a sentence and the padding token, if the vocabulary has them.
  virtual std::vector<Token> prefix() const { return {}; }
  virtual std::vector<Token> suffix() const { return {}; }
  virtual std::optional<Token> padding() const { return std::nullopt; }
  // The token for text that the vocabulary cannot represent.
  virtual std::optional<Token> unknown() const { return std::nullopt; }
};

}  // namespace runner
