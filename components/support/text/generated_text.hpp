#pragma once

#include <cstdint>
#include <string>

namespace runner {

// Sentences drawn from a small grammar, the same ones every time: what a text dataset falls back to where
// there is no file. About 200,000 characters.
std::string generated_text();

// The sentence with this number, of one of `classes` classes: certain words tell which.
std::string generated_sentence(std::int64_t number, std::int64_t label, std::int64_t classes);

}  // namespace runner
