#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace runner {

// One row of chat data.
struct Conversation {
  nlohmann::ordered_json messages =
      nlohmann::ordered_json::array();     // {"role", "content", ..}, as templates take them
  nlohmann::ordered_json tools = nullptr;  // a list, or null
  std::vector<bool> weighted =
      {};               // of each message: it is trained on if it is an answer ("weight" is not 0)
  std::size_t row = 0;  // its number in the file, from 1
  std::string file = {};
};

// Understands messages ({"role", "content"}), conversations ({"from", "value"}), instruction/input/output,
// and prompt with completion. Throws std::runtime_error that completes "chats.jsonl, row 3 ..".
Conversation read_conversation(const nlohmann::ordered_json& row);

// All rows of a file: a list in JSON, or one object a line. Throws DataError with the file and the row.
std::vector<Conversation> read_chats(const std::filesystem::path& file);

}  // namespace runner
