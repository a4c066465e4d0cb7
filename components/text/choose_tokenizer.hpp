#pragma once

#include <filesystem>
#include <optional>
#include <span>

#include "components/text/tokenizers.hpp"
#include "registry/diagnostics.hpp"

namespace runner {

// What text datasets have in common about their tokenizer.
inline constexpr const char* tokenizer_doc =
    "How text becomes tokens: \"char\", \"byte\", or \"bpe\", learnt from the text to train on; or the path "
    "of a HuggingFace tokenizer.json.";
inline constexpr const char* vocab_size_doc =
    "For \"bpe\": most tokens to learn, the 256 bytes included (default 1024).";

void check_tokenizer(const std::string& name, const std::optional<std::int64_t>& vocab_size, Report& report);

std::int64_t largest_bpe(const std::optional<std::int64_t>& vocab_size);

// Learnt from the texts to train on where it has to be learnt; of `others` only the characters count. Throws
// DataError where a tokenizer.json is missing or broken.
std::unique_ptr<Tokenizer> choose_tokenizer(const std::string& name,
                                            const std::optional<std::int64_t>& vocab_size,
                                            const std::vector<std::string_view>& train,
                                            const std::vector<std::string_view>& others);

// The tokens as the tokenizer takes them. Throws DataError where one is not in its vocabulary.
std::vector<Token> in_vocabulary(const Tokenizer& tokenizer, std::span<const std::int64_t> tokens);

}  // namespace runner
