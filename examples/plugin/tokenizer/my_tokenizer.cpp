// A tokenizer of your own: lower-case letters, and one token for everything else.
#include "components/tokenizers/tokenizer.hpp"

namespace {

using namespace runner;

struct MyTokenizer {
  std::string alphabet = "abcdefghijklmnopqrstuvwxyz";
};

constexpr auto describe(std::type_identity<MyTokenizer>) {
  return fields(
      field("alphabet", &MyTokenizer::alphabet, "The letters that are tokens of their own.", non_empty()));
}

// Known before any text is read.
TokenizerFacts facts(const MyTokenizer& settings) {
  return {.vocabulary = static_cast<std::int64_t>(settings.alphabet.size()) + 1, .learns = false};
}

class MyTokenizerLetters final : public Tokenizer {
 public:
  explicit MyTokenizerLetters(const MyTokenizer& settings) : settings_(settings) {}

  std::int64_t vocabulary() const override { return facts(settings_).vocabulary; }
  void encode(std::string_view text, std::vector<Token>& tokens) const override {
    for (const char letter : text) {
      const auto at = settings_.alphabet.find(letter);
      tokens.push_back(static_cast<Token>(at == std::string::npos ? settings_.alphabet.size() : at));
    }
  }
  std::string decode(std::span<const Token> tokens) const override {
    std::string text;
    for (const Token token : tokens)
      text += token < settings_.alphabet.size() ? settings_.alphabet[token] : ' ';
    return text;
  }
  // The run's folder keeps it. One that learns is given it back as inputs.learned, to predict and to sample.
  std::string json() const override { return "{}"; }

 private:
  MyTokenizer settings_;
};

std::unique_ptr<Tokenizer> build(const MyTokenizer& settings, const TokenizerInputs&) {
  return std::make_unique<MyTokenizerLetters>(settings);
}

const Registration<TokenizerKind> registration{"my_tokenizer", "Lower-case letters.", &build};

}  // namespace
