#pragma once

#include <optional>
#include <span>

#include "components/support/text/tokenizers.hpp"
#include "registry/diagnostics.hpp"

namespace runner {

// What a recipe says about the tokenizer of its text.
struct TokenizerChoice {
  std::string name = {};  // "char", "byte", "word", "bpe", or a path
  std::optional<std::int64_t> vocab_size = {};

  bool learns() const { return name == "bpe" || name == "word"; }  // vocab_size counts
  std::int64_t largest() const;                                    // vocabulary that learning may give
  void check(Report& report) const;
};

// Learnt from these texts, or read from the file. Throws DataError where a tokenizer.json is missing or
// broken. With `unknown`, a character that is not in the texts is a token, too.
std::unique_ptr<Tokenizer> choose_tokenizer(const TokenizerChoice& choice,
                                            const std::vector<std::string_view>& texts, bool unknown = false);

// The tokens as the tokenizer takes them. Throws DataError where one is not in its vocabulary.
std::vector<Token> in_vocabulary(const Tokenizer& tokenizer, std::span<const std::int64_t> tokens);

}  // namespace runner
