#pragma once

#include <functional>
#include <string>
#include <vector>

#include "components/tokenizers/json_step.hpp"

namespace runner {

using Texts = std::vector<std::string>;
using DecodeTexts = std::function<Texts(Texts tokens)>;  // joined, the result is the text

// Reads "decoder" of a tokenizer.json. Throws std::runtime_error that names what is not supported.
DecodeTexts read_token_decoder(const nlohmann::json& json);

}  // namespace runner
