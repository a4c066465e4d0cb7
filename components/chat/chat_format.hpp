#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace runner {

// How a model wants its chats written: what stands beside its tokenizer.
struct ChatFormat {
  std::string source = {};        // the template, in Jinja
  std::string tools_source = {};  // another one for conversations with tools; empty: the same
  std::map<std::string, std::string> tokens = {};  // "bos_token", "eos_token" ..: what templates may name
  std::vector<std::string> ends = {};              // after one of these tokens an answer is over

  nlohmann::json json() const;
  static ChatFormat of(const nlohmann::json& json);
};

// The template of many models: <|im_start|>user, a line break, the text, <|im_end|>.
extern const char* const chatml_template;

// `chosen`: a file, or "chatml"; none: chat_template.jinja or tokenizer_config.json beside the tokenizer.
// Throws DataError.
ChatFormat read_chat_format(const std::optional<std::string>& chosen,
                            const std::optional<std::filesystem::path>& tokenizer);

}  // namespace runner
