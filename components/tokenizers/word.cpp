#include "components/tokenizers/tokenizer.hpp"
#include "components/tokenizers/tokenizers.hpp"

namespace runner {
namespace {

struct Word {
  std::int64_t vocab_size = 10'000;
};

constexpr auto describe(std::type_identity<Word>) {
  return fields(field("vocab_size", &Word::vocab_size,
                      "Maximum size of the vocabulary: padding, unknown words, and the most frequent words.",
                      at_least(3)));
}

// Not reversible: what is between the words is lost.
TokenizerFacts facts(const Word& settings) {
  return {.vocabulary = settings.vocab_size, .reversible = false};
}

std::unique_ptr<Tokenizer> build(const Word& settings, const TokenizerInputs& inputs) {
  if (!inputs.learned.empty()) return read_tokenizer(inputs.learned, "dataset.json");
  return learn_words(inputs.texts, settings.vocab_size);
}

const Registration<TokenizerKind> registration{
    "word", "Lowercased words, the most frequent of the training set; for classification.", &build};

}  // namespace
}  // namespace runner
