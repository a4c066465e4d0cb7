#include "components/chat/conversation.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>

#include "registry/base/wording.hpp"

namespace runner {

namespace {

using Json = nlohmann::ordered_json;

[[noreturn]] void fail(const std::string& why) { throw std::runtime_error(why); }

bool has(const Json& row, const char* key) { return row.contains(key) && !row.at(key).is_null(); }

std::string text_at(const Json& row, const char* key) {
  if (!has(row, key)) return "";
  if (!row.at(key).is_string()) fail("has " + in_quotes(key) + " that is not a text");
  return row.at(key).get<std::string>();
}

// Some files hold JSON in a text.
Json unpacked(const Json& value) {
  if (!value.is_string()) return value;
  return Json::parse(value.get<std::string>(), nullptr, /*allow_exceptions=*/false);
}

Json read_tools(const Json& row) {
  if (!has(row, "tools") || row.at("tools") == "") return nullptr;
  Json tools = unpacked(row.at("tools"));
  if (!tools.is_array()) fail("has \"tools\" that are not a list");
  return tools.empty() ? Json(nullptr) : tools;
}

Json message(const char* role, const std::string& content) { return {{"role", role}, {"content", content}}; }

// What an assistant calls, as {"name", "arguments"}, or a list of them.
Json function_call(const std::string& text) {
  const Json parsed = Json::parse(text, nullptr, false);
  Json calls = Json::array();
  for (const Json& call : parsed.is_array() ? parsed : Json::array({parsed})) {
    if (!call.is_object() || !call.contains("name")) fail("has a function_call that is not JSON with a name");
    Json function = {{"name", call.at("name")}, {"arguments", call.value("arguments", Json::object())}};
    calls.push_back({{"type", "function"}, {"function", std::move(function)}});
  }
  return {{"role", "assistant"}, {"content", ""}, {"tool_calls", std::move(calls)}};
}

// ShareGPT's names.
Json from_share_gpt(const Json& turn) {
  static const std::map<std::string, const char*> roles = {
      {"human", "user"},          {"user", "user"},         {"gpt", "assistant"},
      {"assistant", "assistant"}, {"chatgpt", "assistant"}, {"model", "assistant"},
      {"bing", "assistant"},      {"bard", "assistant"},    {"system", "system"},
      {"observation", "tool"},    {"tool", "tool"},         {"function_response", "tool"}};
  const std::string from = text_at(turn, "from");
  if (from == "function_call") return function_call(text_at(turn, "value"));
  const auto role = roles.find(from);
  if (role == roles.end())
    fail("has a message from " + in_quotes(from) +
         ", which is not known: human, gpt, system, function_call or observation");
  Json made = message(role->second, text_at(turn, "value"));
  if (turn.contains("weight")) made["weight"] = turn.at("weight");
  return made;
}

void add_conversations(const Json& row, Json& messages) {
  if (!row.at("conversations").is_array()) fail("has \"conversations\" that are not a list");
  if (has(row, "system") && !text_at(row, "system").empty())
    messages.push_back(message("system", text_at(row, "system")));
  for (const Json& turn : row.at("conversations")) {
    if (!turn.is_object()) fail("has a message that is not an object");
    messages.push_back(turn.contains("role") ? turn : from_share_gpt(turn));
  }
}

void add_instruction(const Json& row, Json& messages) {
  if (const std::string system = text_at(row, "system"); !system.empty())
    messages.push_back(message("system", system));
  if (has(row, "history")) {
    for (const Json& turn : row.at("history")) {
      if (!turn.is_array() || turn.size() != 2 || !turn[0].is_string() || !turn[1].is_string())
        fail("has a \"history\" that is not a list of pairs of texts");
      messages.push_back(message("user", turn[0]));
      messages.push_back(message("assistant", turn[1]));
    }
  }
  const std::string instruction = text_at(row, "instruction"), input = text_at(row, "input");
  messages.push_back(message("user", input.empty() ? instruction : instruction + "\n" + input));
  messages.push_back(message("assistant", text_at(row, "output")));
}

void add_completion(const Json& row, Json& messages) {
  for (const auto& [key, role] : {std::pair("prompt", "user"), {"completion", "assistant"}}) {
    if (row.at(key).is_array()) {
      for (const Json& each : row.at(key)) messages.push_back(each);
    } else {
      messages.push_back(message(role, text_at(row, key)));
    }
  }
}

std::string keys_of(const Json& row) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : row.items()) keys.push_back(in_quotes(key));
  return keys.empty() ? "no key" : listed(keys);
}

bool weight_of(const Json& message) {
  if (!has(message, "weight")) return true;
  const Json& weight = message.at("weight");
  if (weight.is_boolean()) return weight.get<bool>();
  if (weight == 0 || weight == 1) return weight == 1;
  fail("has a message with the weight " + escaped_name(weight.dump()) +
       ": a message counts fully (1) or not at all (0)");
}

void check_message(const Json& message) {
  if (!message.is_object()) fail("has a message that is not an object");
  if (!message.contains("role") || !message.at("role").is_string()) fail("has a message without a \"role\"");
  const Json content = message.value("content", Json());
  if (!content.is_null() && !content.is_string() && !content.is_array())
    fail("has a message whose \"content\" is neither a text nor a list");
}

// transformers gives templates what a model thought under each of the names that they use.
void name_reasoning(Json& message) {
  for (const char* key : {"reasoning_content", "thinking", "reasoning"}) {
    if (!has(message, key)) continue;
    const Json reasoning = message.at(key);
    if (!message.contains("thinking")) message["thinking"] = reasoning;
    message["reasoning_content"] = reasoning;
    return;
  }
}

}  // namespace

Conversation read_conversation(const Json& row) {
  if (!row.is_object()) fail("is not an object");
  Conversation read;
  if (has(row, "chosen") || has(row, "rejected"))
    fail(
        "is preference data (it has \"chosen\" and \"rejected\"), of which this dataset would train on "
        "neither answer");
  if (has(row, "messages")) {
    if (!row.at("messages").is_array()) fail("has \"messages\" that are not a list");
    read.messages = row.at("messages");
  } else if (has(row, "conversations")) {
    add_conversations(row, read.messages);
  } else if (has(row, "instruction") && row.contains("output")) {
    add_instruction(row, read.messages);
  } else if (has(row, "prompt") && has(row, "completion")) {
    add_completion(row, read.messages);
  } else {
    fail("has " + keys_of(row) +
         ", but neither \"messages\", nor \"conversations\", nor \"instruction\" and \"output\", nor "
         "\"prompt\" and \"completion\"");
  }
  if (read.messages.empty()) fail("has no message");
  read.tools = read_tools(row);
  for (Json& each : read.messages) {
    check_message(each);
    read.weighted.push_back(weight_of(each));
    each.erase("weight");
    name_reasoning(each);
  }
  return read;
}

}  // namespace runner
