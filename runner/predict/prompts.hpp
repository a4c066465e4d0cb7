#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace runner {

// What a language model is to continue, or a conversation that it is to answer.
struct Prompt {
  std::string text = {};
  std::string chat = {};  // a row of chat data, in JSON; empty: a text to continue
  nlohmann::ordered_json row = {};
};

// A user's message.
Prompt chat_prompt(const std::string& message);

// JSON lines: {"prompt": ".."}, and for a chat also conversations; if one ends with an answer, that answer is
// not part of the prompt. Throws DataError with the file and the line.
std::vector<Prompt> read_prompts(const std::filesystem::path& file, bool chat);

// The row of a prompt with its answer, as one line of JSON.
std::string answered(const Prompt& prompt, const std::string& answer);

}  // namespace runner
