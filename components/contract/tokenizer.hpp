#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace runner {

using Token = std::uint32_t;

// A text that several people wrote: a template and those whose messages it shows. `foreign` has an entry for
// each byte; no special token may contain a byte that is foreign. `cuts` are places in the text, in ascending
// order.
struct MarkedText {
  std::string_view text;
  std::vector<bool> foreign;
  std::vector<std::size_t> cuts;
};
struct MarkedTokens {
  std::vector<Token> tokens;
  std::vector<std::size_t> ended, begun;  // of each cut: how many tokens end at or before it, begin before it
};

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

  // The token of this very text, such as "<|end|>".
  virtual std::optional<Token> find(std::string_view /*text*/) const { return std::nullopt; }
  // Whether a token stands for something other than text, such as the end of a message.
  virtual bool is_special(Token /*token*/) const { return false; }
  // One token for people to read: also of a special one, which decode() skips.
  virtual std::string name(Token token) const { return decode(std::span(&token, 1)); }
  // The tokens of a text with special tokens where it may have them, even if encode() recognises none.
  virtual MarkedTokens encode_marked(const MarkedText& marked) const;
};

}  // namespace runner
