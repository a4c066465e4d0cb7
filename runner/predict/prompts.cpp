#include "runner/predict/prompts.hpp"

#include "components/chat/conversation.hpp"
#include "components/contract/data_error.hpp"
#include "registry/base/wording.hpp"
#include "registry/files/io_error.hpp"
#include "registry/files/mapped_file.hpp"
#include "registry/files/read_json.hpp"

namespace runner {

namespace {

using Json = nlohmann::ordered_json;

Json message(const char* role, const std::string& content) { return {{"role", role}, {"content", content}}; }

Prompt read_prompt(const Json& row, bool chat) {
  const bool simple = row.is_object() && row.contains("prompt") && row.at("prompt").is_string();
  if (!chat) {
    if (!simple) throw std::runtime_error("has no text \"prompt\"; for conversations, give --chat");
    return {.text = row.at("prompt"), .row = row};
  }
  if (simple) {
    Prompt prompt = chat_prompt(row.at("prompt"));
    prompt.row["prompt"] = row.at("prompt");
    return prompt;
  }
  Conversation conversation = read_conversation(row);
  if (conversation.messages.back().at("role") == "assistant")
    conversation.messages.erase(conversation.messages.size() - 1);
  if (conversation.messages.empty()) throw std::runtime_error("has nothing to answer");
  Json kept = {{"messages", conversation.messages}};
  if (!conversation.tools.is_null()) kept["tools"] = conversation.tools;
  return {.chat = kept.dump(), .row = kept};
}

}  // namespace

Prompt chat_prompt(const std::string& message_) {
  const Json row = {{"messages", Json::array({message("user", message_)})}};
  return {.chat = row.dump(-1, ' ', false, Json::error_handler_t::replace), .row = row};
}

std::vector<Prompt> read_prompts(const std::filesystem::path& file, bool chat) {
  std::vector<Prompt> prompts;
  std::size_t number = 0;
  try {
    const MappedFile mapped(file);
    for (std::string_view text = mapped.text(); !text.empty();) {
      const std::string_view line = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(text.size(), line.size() + 1));
      ++number;
      if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
      check_json_limits(line);
      prompts.push_back(read_prompt(Json::parse(line), chat));
    }
  } catch (const IoError& error) {
    throw DataError(error.what());
  } catch (const Json::exception&) {
    throw DataError(escaped_name(file.string()) + ", line " + std::to_string(number) +
                    ", is not valid JSON.");
  } catch (const std::runtime_error& error) {
    throw DataError(escaped_name(file.string()) + ", line " + std::to_string(number) + ", " + error.what() +
                    ".");
  }
  if (prompts.empty()) throw DataError(escaped_name(file.string()) + " has no prompt.");
  return prompts;
}

std::string answered(const Prompt& prompt, const std::string& answer) {
  Json row = prompt.row;
  if (row.contains("messages")) row["messages"].push_back(message("assistant", answer));
  if (!prompt.chat.empty() && row.contains("prompt")) row.erase("messages");
  if (row.contains("prompt")) row["completion"] = answer;
  return row.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace runner
