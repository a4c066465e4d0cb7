#include <cstdio>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "components/contract/data_error.hpp"
#include "components/tokenizers/code_points.hpp"
#include "components/tokenizers/tokenizers.hpp"
#include "registry/base/utf8.hpp"
#include "registry/base/wording.hpp"

namespace runner {

namespace {

class CharTokenizer final : public Tokenizer {
 public:
  CharTokenizer(const std::set<char32_t>& characters, bool unknown)
      : characters_(characters.begin(), characters.end()), unknown_(unknown) {
    for (const char32_t character : characters_)
      tokens_.emplace(character, static_cast<Token>(tokens_.size()));
  }

  std::int64_t vocabulary() const override {
    return static_cast<std::int64_t>(characters_.size()) + (unknown_ ? 1 : 0);
  }

  void encode(std::string_view text, std::vector<Token>& tokens) const override {
    while (!text.empty()) {
      const char32_t character = take_code_point(text);
      const auto found = tokens_.find(character);
      if (found == tokens_.end() && !unknown_) refuse(character);
      tokens.push_back(found == tokens_.end() ? static_cast<Token>(characters_.size()) : found->second);
    }
  }

  std::string decode(std::span<const Token> tokens) const override {
    std::string text;
    for (const Token token : tokens)
      append_utf8(text, token < characters_.size() ? characters_[token] : U'\uFFFD');
    return text;
  }

  std::optional<Token> unknown() const override {
    return unknown_ ? std::optional(static_cast<Token>(characters_.size())) : std::nullopt;
  }

  std::string json() const override {
    std::string characters;
    for (const char32_t character : characters_) append_utf8(characters, character);
    return nlohmann::ordered_json{{"tokenizer", "char"}, {"characters", characters}, {"unknown", unknown_}}
        .dump();
  }

 private:
  [[noreturn]] void refuse(char32_t character) const {
    std::string text;
    append_utf8(text, character);
    char number[16];
    std::snprintf(number, sizeof number, "U+%04X", static_cast<unsigned>(character));
    throw DataError("The character " + in_quotes(text) + " (" + number + ") is not in the vocabulary of " +
                    std::to_string(characters_.size()) + " characters that the data gave.");
  }

  std::vector<char32_t> characters_;
  std::unordered_map<char32_t, Token> tokens_;
  bool unknown_;
};

}  // namespace

std::unique_ptr<Tokenizer> char_tokenizer(const std::set<char32_t>& characters, bool unknown) {
  return std::make_unique<CharTokenizer>(characters, unknown);
}

}  // namespace runner
