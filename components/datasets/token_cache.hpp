#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "components/datasets/sentence_encoder.hpp"
#include "components/tokenizers/token_store.hpp"
#include "components/tokenizers/tokenizer.hpp"

namespace runner {

// Learning a vocabulary and tokenizing a large text take long, and every rank and every run with the same
// text would do both again. So the results are kept in the user's cache folder, under a hash of the text, the
// tokenizer and the build of its code. Results for small texts are not kept: they take no time.

// Same result as part.build(inputs).
std::unique_ptr<Tokenizer> cached_tokenizer(const Part<TokenizerKind>& part, const TokenizerInputs& inputs);

// Same result as encode_all().
TokenStore cached_tokens(const Tokenizer& tokenizer, std::string_view text);

struct SentenceTokens {
  std::vector<Token> tokens;
  std::vector<std::size_t> ends;      // of each sentence in `tokens`
  std::vector<std::int64_t> lengths;  // of each sentence before it was truncated
};

// Encodes every sentence with encoder.encode().
SentenceTokens cached_tokens(const SentenceEncoder& encoder, const std::vector<std::string>& sentences);

}  // namespace runner
