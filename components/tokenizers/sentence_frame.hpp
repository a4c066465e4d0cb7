#pragma once

#include <vector>

#include "components/contract/tokenizer.hpp"
#include "components/tokenizers/json_step.hpp"

namespace runner {

// The tokens before and after a sentence.
struct SentenceFrame {
  std::vector<Token> prefix = {}, suffix = {};
};

// Reads "post_processor" of a tokenizer.json. Throws std::runtime_error that names what is not supported.
SentenceFrame read_sentence_frame(const nlohmann::json& json);

}  // namespace runner
