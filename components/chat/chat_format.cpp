#include "components/chat/chat_format.hpp"

#include "components/contract/data_error.hpp"
#include "registry/base/wording.hpp"
#include "registry/files/folders.hpp"
#include "registry/files/io_error.hpp"
#include "registry/files/mapped_file.hpp"
#include "registry/files/read_json.hpp"

namespace runner {

namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

std::string text_of(const fs::path& file) {
  try {
    return std::string(MappedFile(file).text());
  } catch (const IoError& error) {
    throw DataError(error.what());
  }
}

Json json_beside(const fs::path& folder, const char* name) {
  if (is_missing(folder / name)) return Json::object();
  try {
    Json json = read_json_file(folder / name);
    return json.is_object() ? json : Json::object();
  } catch (const std::runtime_error& error) {
    throw DataError(error.what());
  }
}

// A token is written as its text, or as an object that has it.
std::optional<std::string> token_text(const Json& token) {
  if (token.is_string()) return token.get<std::string>();
  if (token.is_object() && token.contains("content") && token["content"].is_string())
    return token["content"].get<std::string>();
  return std::nullopt;
}

void take_tokens(const Json& config, ChatFormat& format) {
  for (const auto& [key, value] : config.items()) {
    if (!key.ends_with("_token")) continue;
    if (const auto text = token_text(value)) format.tokens[key] = *text;
  }
}

// One template, or a list of them with names.
void take_template(const Json& config, ChatFormat& format) {
  if (!config.contains("chat_template")) return;
  const Json& given = config.at("chat_template");
  if (given.is_string()) format.source = given.get<std::string>();
  if (!given.is_array()) return;
  for (const Json& each : given) {
    if (!each.is_object()) continue;
    const std::string name = each.value("name", ""), text = each.value("template", "");
    if (name == "default") format.source = text;
    if (name == "tool_use") format.tools_source = text;
  }
}

}  // namespace

const char* const chatml_template =
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' }}{% if message['role'] == "
    "'assistant' %}"
    "{% generation %}{{ message['content'] + '<|im_end|>' }}{% endgeneration %}{{ '\\n' }}{% else %}"
    "{{ message['content'] + '<|im_end|>\\n' }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

Json ChatFormat::json() const {
  return {{"template", source}, {"tools_template", tools_source}, {"tokens", tokens}, {"ends", ends}};
}

ChatFormat ChatFormat::of(const Json& json) {
  return {.source = json.at("template"),
          .tools_source = json.at("tools_template"),
          .tokens = json.at("tokens"),
          .ends = json.at("ends")};
}

ChatFormat read_chat_format(const std::optional<std::string>& chosen,
                            const std::optional<fs::path>& tokenizer) {
  ChatFormat format;
  const fs::path folder = tokenizer ? tokenizer->parent_path() : fs::path();
  if (tokenizer) {
    take_tokens(json_beside(folder, "special_tokens_map.json"), format);
    const Json config = json_beside(folder, "tokenizer_config.json");
    take_tokens(config, format);
    take_template(config, format);
    if (!is_missing(folder / "chat_template.jinja")) format.source = text_of(folder / "chat_template.jinja");
  }
  if (const auto end = format.tokens.find("eos_token"); end != format.tokens.end())
    format.ends.push_back(end->second);
  if (chosen) {
    format.tools_source.clear();
    if (*chosen == "chatml") {
      format.source = chatml_template;
    } else if (is_missing(*chosen)) {
      throw DataError("There is no file " + escaped_name(*chosen) +
                      ": set dataset.template to a file with a template in Jinja, or to \"chatml\".");
    } else {
      format.source = text_of(*chosen);
    }
  }
  if (format.source.empty()) {
    const std::string where = tokenizer ? "There is no chat template in " +
                                              escaped_name((folder / "tokenizer_config.json").string()) +
                                              ", and no chat_template.jinja beside it"
                                        : "The tokenizer brings no chat template along";
    throw DataError(where + ": set dataset.template to a file with one, or to \"chatml\".");
  }
  return format;
}

}  // namespace runner
