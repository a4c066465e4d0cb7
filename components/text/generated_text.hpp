#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace runner {

// Sentences drawn from a small grammar, the same ones every time: what a text dataset falls back to where
// there is no file. About 200,000 characters.
std::string generated_text();

}  // namespace runner
