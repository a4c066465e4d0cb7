#include "runner/checkpoint/state_json.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "registry/base/utf8.hpp"
#include "registry/base/wording.hpp"

namespace runner {

namespace {

using Json = nlohmann::json;

// JSON has no notation for numbers that are not finite.
Json number_to_json(double number) {
  if (std::isfinite(number)) return number;
  return std::isnan(number) ? "NaN" : number > 0 ? "Infinity" : "-Infinity";
}

double number_from_json(const Json& json) {
  if (json.is_number()) return json.get<double>();
  const std::string word = json.is_string() ? json.get<std::string>() : "";
  if (word == "NaN") return std::nan("");
  if (word == "Infinity") return INFINITY;
  if (word == "-Infinity") return -INFINITY;
  throw StateError("a number of the saved state is not a number");
}

// JSON is UTF-8, but names and texts may hold any bytes, such as a class named by a folder. A malformed byte
// becomes one of the last 128 code points, which have no other use: U+10FF80 to U+10FFFF. So does each byte
// of a character that is one of them.
constexpr char32_t escape_base = 0x10FF00;
constexpr std::size_t escape_length = 4;  // bytes of UTF-8

bool is_escape(std::string_view character) {
  return character.starts_with("\xF4\x8F\xBE") || character.starts_with("\xF4\x8F\xBF");
}

std::string to_utf8(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const std::size_t length = utf8_length(bytes);
    const std::string_view character = bytes.substr(0, std::max<std::size_t>(length, 1));
    if (length > 0 && !is_escape(character)) {
      text += character;
    } else {
      for (const char byte : character) append_utf8(text, escape_base + static_cast<unsigned char>(byte));
    }
    bytes.remove_prefix(character.size());
  }
  return text;
}

std::string from_utf8(std::string_view text) {
  std::string bytes;
  while (!text.empty()) {
    const bool escaped = text.size() >= escape_length && is_escape(text);
    if (escaped)  // UTF-8 ends with the last six bits of the code point
      bytes += static_cast<char>((text[2] == '\xBE' ? 0x80 : 0xC0) | (text[3] & 0x3F));
    else
      bytes += text[0];
    text.remove_prefix(escaped ? escape_length : 1);
  }
  return bytes;
}

const Json& member(const Json& json, const char* name) {
  static const Json none = Json::object();
  const auto found = json.find(name);
  if (found == json.end()) return none;
  if (!found->is_object()) throw StateError(in_quotes(name) + " of a saved state is not an object");
  return *found;
}

}  // namespace

Json to_json(const State& state) {
  Json json = Json::object();
  for (const auto& [name, tensor] : state.tensors) json["tensors"].push_back(name);
  for (const auto& [name, integer] : state.integers) json["integers"][to_utf8(name)] = integer;
  for (const auto& [name, number] : state.numbers) json["numbers"][to_utf8(name)] = number_to_json(number);
  for (const auto& [name, text] : state.texts) json["texts"][to_utf8(name)] = to_utf8(text);
  for (const auto& [name, part] : state.parts) json["parts"][name] = to_json(part);
  return json;
}

State state_from_json(const Json& json, const std::map<std::string, torch::Tensor>& tensors,
                      const std::string& prefix) {
  if (!json.is_object()) throw StateError("a saved state is not an object");
  State state;
  if (const auto names = json.find("tensors"); names != json.end()) {
    for (const Json& name : *names) {
      const std::string text = name.is_string() ? name.get<std::string>() : "";
      const auto tensor = tensors.find(prefix + text);
      if (tensor == tensors.end()) throw StateError("the tensor " + in_quotes(prefix + text) + " is missing");
      state.tensors[text] = tensor->second;
    }
  }
  for (const auto& [name, value] : member(json, "integers").items()) {
    // Not compared as Json, which takes a large unsigned number for a negative one.
    if (!value.is_number_integer() ||
        (value.is_number_unsigned() && !std::in_range<std::int64_t>(value.get<std::uint64_t>())))
      throw StateError(in_quotes(name) + " of the saved state is not a 64-bit integer");
    state.integers[from_utf8(name)] = value.get<std::int64_t>();
  }
  for (const auto& [name, value] : member(json, "numbers").items())
    state.numbers[from_utf8(name)] = number_from_json(value);
  for (const auto& [name, value] : member(json, "texts").items()) {
    if (!value.is_string()) throw StateError(in_quotes(name) + " of the saved state is not a text");
    state.texts[from_utf8(name)] = from_utf8(value.get<std::string>());
  }
  for (const auto& [name, part] : member(json, "parts").items())
    state.parts[name] = state_from_json(part, tensors, prefix + name + "/");
  return state;
}

TensorList tensors_of(const State& state, const std::string& prefix) {
  TensorList all;
  for (const auto& [name, tensor] : state.tensors) all.emplace_back(prefix + name, tensor);
  for (const auto& [name, part] : state.parts) {
    for (auto& tensor : tensors_of(part, prefix + name + "/")) all.push_back(std::move(tensor));
  }
  return all;
}

}  // namespace runner
