#pragma once

#include <memory>
#include <set>

#include "components/text/tokenizer.hpp"

namespace runner {

std::unique_ptr<Tokenizer> byte_tokenizer();

// Numbered in order of the code points. A character that is not among them is an error, or, with `unknown`,
// one more token.
std::unique_ptr<Tokenizer> char_tokenizer(const std::set<char32_t>& characters, bool unknown = false);

// Lowercased words, numbered from 2: 0 is padding, 1 any other word.
std::unique_ptr<Tokenizer> word_tokenizer(std::vector<std::string> words);
// The most frequent words of the texts, so many that with those two there are not more than `vocabulary`.
std::unique_ptr<Tokenizer> learn_words(const std::vector<std::string_view>& texts, std::int64_t vocabulary);

// What Tokenizer::json() gave, or a tokenizer.json. Throws DataError that begins with `origin`.
std::unique_ptr<Tokenizer> read_tokenizer(std::string_view json, const std::string& origin);

}  // namespace runner
