#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "components/tokenizers/code_points.hpp"
#include "components/tokenizers/tokenizers.hpp"
#include "components/tokenizers/unicode.hpp"

namespace runner {

namespace {

constexpr Token padding_token = 0, unknown_token = 1;

// Lowercase words: letters and digits with the apostrophes between them; any other visible character is a
// word of its own.
template <class See>
void each_word(std::string_view text, const See& see) {
  const std::string lower = unicode::lowercase(text);
  std::string_view rest = lower, word;
  const auto finish = [&] {
    while (word.ends_with('\'')) word.remove_suffix(1);
    if (!word.empty()) see(std::string(word));
  };
  while (!rest.empty()) {
    const char* start = rest.data();
    const char32_t character = take_code_point(rest);
    const auto length = static_cast<std::size_t>(rest.data() - start);
    if (unicode::is_word(character) || (character == '\'' && !word.empty())) {
      word = word.empty() ? std::string_view(start, length)
                          : std::string_view(word.data(), word.size() + length);
      continue;
    }
    finish();
    word = {};
    if (!unicode::is_space(character) && !unicode::is_control(character)) see(std::string(start, length));
  }
  finish();
}

class WordTokenizer final : public Tokenizer {
 public:
  explicit WordTokenizer(std::vector<std::string> words) : words_(std::move(words)) {
    for (const std::string& word : words_) tokens_.emplace(word, static_cast<Token>(tokens_.size() + 2));
  }

  std::int64_t vocabulary() const override { return static_cast<std::int64_t>(words_.size()) + 2; }
  std::optional<Token> padding() const override { return padding_token; }
  std::optional<Token> unknown() const override { return unknown_token; }

  void encode(std::string_view text, std::vector<Token>& tokens) const override {
    each_word(text, [&](const std::string& word) {
      const auto found = tokens_.find(word);
      tokens.push_back(found == tokens_.end() ? unknown_token : found->second);
    });
  }

  std::string decode(std::span<const Token> tokens) const override {
    std::string text;
    for (const Token token : tokens) {
      if (token == padding_token) continue;
      text += (text.empty() ? "" : " ") + (token == unknown_token ? "\uFFFD" : words_[token - 2]);
    }
    return text;
  }

  std::string json() const override {
    return nlohmann::ordered_json{{"tokenizer", "word"}, {"words", words_}}.dump();
  }

 private:
  std::vector<std::string> words_;
  std::unordered_map<std::string, Token> tokens_;
};

}  // namespace

std::unique_ptr<Tokenizer> word_tokenizer(std::vector<std::string> words) {
  return std::make_unique<WordTokenizer>(std::move(words));
}

std::unique_ptr<Tokenizer> learn_words(const std::vector<std::string_view>& texts, std::int64_t vocabulary) {
  std::unordered_map<std::string, std::int64_t> counts;
  for (const std::string_view text : texts) each_word(text, [&](const std::string& word) { ++counts[word]; });
  std::vector<std::pair<std::string, std::int64_t>> ranked(counts.begin(), counts.end());
  std::ranges::sort(ranked, [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  std::vector<std::string> words;
  for (auto& [word, count] : ranked) {
    if (static_cast<std::int64_t>(words.size()) + 2 >= vocabulary) break;
    words.push_back(std::move(word));
  }
  return word_tokenizer(std::move(words));
}

}  // namespace runner
