#pragma once

#include <memory>
#include <set>

#include "components/text/tokenizer.hpp"

namespace runner {

std::unique_ptr<Tokenizer> byte_tokenizer();

// Numbered in order of the code points. A character that is not among them is an error, or, with `unknown`,
// one more token.
std::unique_ptr<Tokenizer> char_tokenizer(const std::set<char32_t>& characters, bool unknown = false);

// What Tokenizer::json() gave, or a tokenizer.json. Throws DataError that begins with `origin`.
std::unique_ptr<Tokenizer> read_tokenizer(std::string_view json, const std::string& origin);

}  // namespace runner
