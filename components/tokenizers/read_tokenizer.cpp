#include <nlohmann/json.hpp>

#include "components/contract/data_error.hpp"
#include "components/tokenizers/code_points.hpp"
#include "components/tokenizers/json_step.hpp"
#include "components/tokenizers/tokenizers.hpp"
#include "registry/base/wording.hpp"
#include "registry/files/read_json.hpp"

namespace runner {

namespace {

using Json = nlohmann::json;

std::set<char32_t> code_points(const std::string& text) {
  std::set<char32_t> characters;
  for (std::string_view rest = text; !rest.empty();) characters.insert(take_code_point(rest));
  return characters;
}

std::unique_ptr<Tokenizer> from_json(const Json& json) {
  JsonStep entries(json, "list of entries");
  const auto name = entries.get<std::string>("tokenizer");
  if (name == "byte") return byte_tokenizer();
  if (name == "char") {
    const auto characters = entries.get<std::string>("characters");
    return char_tokenizer(code_points(characters), entries.get<bool>("unknown"));
  }
  if (name == "word") return word_tokenizer(entries.get<std::vector<std::string>>("words"));
  throw std::runtime_error("there is no tokenizer " + in_quotes(name));
}

}  // namespace

std::unique_ptr<Tokenizer> read_tokenizer(std::string_view json, const std::string& origin,
                                          bool parse_special) {
  try {
    Json parsed = read_json(json);
    if (!parsed.is_object()) throw std::runtime_error("it is not a JSON object");
    if (parsed.contains("tokenizer")) return from_json(parsed);
    return huggingface_tokenizer(std::move(parsed), parse_special);
  } catch (const Json::exception&) {  // the library's message would not help the user
    throw DataError(origin + " cannot be used as a tokenizer: an entry is missing or of the wrong kind.");
  } catch (const std::exception& error) {
    throw DataError(origin + " cannot be used as a tokenizer: " + error.what() + ".");
  }
}

}  // namespace runner
