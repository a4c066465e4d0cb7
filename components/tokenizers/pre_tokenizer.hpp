#pragma once

#include <functional>
#include <string>
#include <vector>

#include "components/tokenizers/json_step.hpp"

namespace runner {

// A part of a text; no token crosses its boundaries.
struct TextPiece {
  std::string text;
  bool first = false;  // it is at the beginning of the text
};

using PreTokenize = std::function<std::vector<TextPiece>(std::vector<TextPiece> pieces)>;

// Reads "pre_tokenizer" of a tokenizer.json. Throws std::runtime_error that names what is not supported.
PreTokenize read_pre_tokenizer(const nlohmann::json& json);

}  // namespace runner
