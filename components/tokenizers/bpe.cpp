#include "components/tokenizers/tokenizer.hpp"
#include "components/tokenizers/tokenizers.hpp"

namespace runner {
namespace {

struct Bpe {
  std::int64_t vocab_size = 1024;
};

constexpr auto describe(std::type_identity<Bpe>) {
  return fields(field("vocab_size", &Bpe::vocab_size,
                      "Maximum size of the vocabulary, including the 256 bytes.", above(256)));
}

TokenizerFacts facts(const Bpe& settings) { return {.vocabulary = settings.vocab_size}; }

std::unique_ptr<Tokenizer> build(const Bpe& settings, const TokenizerInputs& inputs) {
  if (!inputs.learned.empty()) return read_tokenizer(inputs.learned, "dataset.json");
  return learn_bpe(inputs.texts, settings.vocab_size);
}

const Registration<TokenizerKind> registration{
    "bpe", "Byte-level BPE as in GPT-2, learnt from the training set.", &build};

}  // namespace
}  // namespace runner
