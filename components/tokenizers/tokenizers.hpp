#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <set>

#include "components/contract/tokenizer.hpp"

namespace runner {

std::unique_ptr<Tokenizer> byte_tokenizer();

// Numbered in the order of the code points. A character that is not among them is an error or, with
// `unknown`, becomes an additional token.
std::unique_ptr<Tokenizer> char_tokenizer(const std::set<char32_t>& characters, bool unknown);

// Lowercase words, numbered from 2: 0 is padding, 1 is any other word.
std::unique_ptr<Tokenizer> word_tokenizer(std::vector<std::string> words);
// The most frequent words of the texts; including these two, there are at most `vocabulary` tokens.
std::unique_ptr<Tokenizer> learn_words(const std::vector<std::string_view>& texts, std::int64_t vocabulary);

// Byte-level BPE as in GPT-2: repeatedly turns the most frequent pair of neighbours into a token until there
// are `vocabulary` tokens or no pair is left. Its json() is a tokenizer.json.
std::unique_ptr<Tokenizer> learn_bpe(const std::vector<std::string_view>& texts, std::int64_t vocabulary);

// A tokenizer.json. A special token that a text contains is text, unless `parse_special`: it may be
// somebody's who wants to end a message in the name of another. Throws std::runtime_error that says what is
// wrong or not supported.
std::unique_ptr<Tokenizer> huggingface_tokenizer(nlohmann::json json, bool parse_special = false);

// Reads the result of Tokenizer::json() or a tokenizer.json. Throws DataError that begins with `origin`.
std::unique_ptr<Tokenizer> read_tokenizer(std::string_view json, const std::string& origin,
                                          bool parse_special = false);

}  // namespace runner
