#include "registry/files/read_json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "registry/base/wording.hpp"
#include "registry/files/open_file.hpp"

namespace runner {

std::string json_place(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, byte > 0 ? byte - 1 : 0);
  const auto line = 1 + std::ranges::count(before, '\n');
  const std::size_t start = before.rfind('\n');
  const std::size_t column = before.size() - (start == std::string_view::npos ? 0 : start + 1) + 1;
  return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

// Does not parse the text: brackets and commas outside of strings bound the number of values in it.
void check_json_limits(std::string_view text, std::size_t most_values) {
  if (text.size() > largest_json)
    throw JsonError("it has " + std::to_string(text.size()) + " bytes of JSON, more than the limit of " +
                    std::to_string(largest_json));
  std::size_t depth = 0, values = 1;
  for (std::size_t i = 0; i < text.size(); ++i) {
    switch (text[i]) {
      case '"':
        for (++i; i < text.size() && text[i] != '"'; ++i)
          if (text[i] == '\\') ++i;
        break;
      case '[':
      case '{':
        ++values;
        if (++depth > deepest_json) {
          throw JsonError("it is nested more than " + std::to_string(deepest_json) + " levels deep (" +
                          json_place(text, i + 1) + ")");
        }
        break;
      case ']':
      case '}':
        if (depth > 0) --depth;
        break;
      case ',':
        if (++values > most_values)
          throw JsonError("it holds more than " + std::to_string(most_values) + " values");
        break;
      default: break;
    }
  }
}

nlohmann::json read_json(std::string_view text) {
  check_json_limits(text);
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::parse_error& error) {
    // The library's message quotes a whole token, however long it is.
    throw JsonError("it is not valid JSON (" + json_place(text, error.byte) + ")");
  } catch (const nlohmann::json::exception&) {  // such as a number that no type holds
    throw JsonError("it is not valid JSON");
  }
}

namespace {

JsonError refusal(const std::filesystem::path& path, const std::string& why) {
  return JsonError("Cannot read " + escaped_name(path.string()) + ": " + why + ".");
}

std::string text_of(const std::filesystem::path& path) {
  const OpenFile file(path);
  if (file.size() > largest_json)
    throw refusal(path, "it has " + std::to_string(file.size()) + " bytes; this is not a file of settings");
  std::vector<std::uint8_t> bytes(file.size());
  file.read_at(0, bytes);
  return {bytes.begin(), bytes.end()};
}

}  // namespace

nlohmann::json read_json_file(const std::filesystem::path& path) {
  const std::string text = text_of(path);
  try {
    return read_json(text);
  } catch (const JsonError& error) {
    throw refusal(path, error.what());
  }
}

nlohmann::json read_json_or_null(std::string_view text) {
  try {
    return read_json(text);
  } catch (const JsonError&) {
    return nullptr;
  }
}

nlohmann::json read_json_file_or_null(const std::filesystem::path& path) {
  try {
    return read_json_file(path);
  } catch (const std::runtime_error&) {  // there is no such file, or it is not JSON
    return nullptr;
  }
}

nlohmann::ordered_json read_ordered_json_file_or_null(const std::filesystem::path& path) {
  constexpr std::size_t few_values = 10'000;
  try {
    const std::string text = text_of(path);
    check_json_limits(text, few_values);
    return nlohmann::ordered_json::parse(text);
  } catch (const std::runtime_error&) {
    return nullptr;
  } catch (const nlohmann::ordered_json::exception&) {
    return nullptr;
  }
}

}  // namespace runner
