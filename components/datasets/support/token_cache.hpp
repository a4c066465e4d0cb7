#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "components/support/text/sentence_encoder.hpp"
#include "components/support/text/token_store.hpp"
#include "components/tokenizers/tokenizer.hpp"

namespace runner {

// Learning a vocabulary and tokenizing a large text take long, and every rank and every run with the same
// text would do both again. So the results are kept in the user's cache folder, named after the text, the
// tokenizer and the build of its code. Small texts are not kept: they take no time.

// As part.build(inputs).
std::unique_ptr<Tokenizer> cached_tokenizer(const Part<TokenizerKind>& part, const TokenizerInputs& inputs);

// As encode_all().
TokenStore cached_tokens(const Tokenizer& tokenizer, std::string_view text);

struct SentenceTokens {
  std::vector<Token> tokens;
  std::vector<std::size_t> ends;  // of each sentence among them
};

// Every sentence as encoder.encode() gives it.
SentenceTokens cached_tokens(const SentenceEncoder& encoder, const std::vector<std::string>& sentences);

}  // namespace runner
