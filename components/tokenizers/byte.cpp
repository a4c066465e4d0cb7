#include "components/tokenizers/tokenizer.hpp"
#include "components/tokenizers/tokenizers.hpp"

namespace runner {
namespace {

struct Byte {};

constexpr auto describe(std::type_identity<Byte>) { return fields(); }

TokenizerFacts facts(const Byte&) { return {.vocabulary = 256, .learns = false, .bytes = true}; }

std::unique_ptr<Tokenizer> build(const Byte&, const TokenizerInputs&) { return byte_tokenizer(); }

const Registration<TokenizerKind> registration{"byte", "Every byte is a token; works for any text.", &build};

}  // namespace
}  // namespace runner
