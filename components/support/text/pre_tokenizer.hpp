#pragma once

#include <functional>
#include <string>
#include <vector>

#include "components/support/text/json_step.hpp"

namespace runner {

// A part of a text that tokens do not reach across.
struct TextPiece {
  std::string text;
  bool first = false;  // the text begins with it
};

using PreTokenize = std::function<std::vector<TextPiece>(std::vector<TextPiece> pieces)>;

// Of a tokenizer.json. Throws std::runtime_error that names what is not supported.
PreTokenize read_pre_tokenizer(const nlohmann::json& json);

}  // namespace runner
