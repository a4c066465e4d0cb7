#pragma once

#include <functional>
#include <string>

#include "components/tokenizers/json_step.hpp"

namespace runner {

using Normalize = std::function<std::string(const std::string& text)>;

// Reads "normalizer" of a tokenizer.json. Throws std::runtime_error that names what is not supported.
Normalize read_normalizer(const nlohmann::json& json);

// What Replace does with a text: in a normalizer and in a decoder.
Normalize read_replace(JsonStep& step);

}  // namespace runner
