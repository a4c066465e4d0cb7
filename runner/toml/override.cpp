#include "runner/toml/override.hpp"

#include <string_view>
#include <utility>

#include "runner/toml/setting.hpp"
#include "runner/toml/setting_value.hpp"
#include "runner/toml/text_places.hpp"

namespace runner {

namespace {

// The first = outside the quotes of a key.
std::size_t find_assignment(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '=') return i;
    if (text[i] != '"' && text[i] != '\'') continue;
    const auto end = text.find(text[i], i + 1);
    if (end == std::string_view::npos) break;
    i = end;
  }
  return std::string_view::npos;
}

}  // namespace

void apply_override(const std::string& argument, int layer, Value& tree, const DefaultOf& default_of,
                    Diagnostics& diagnostics) {
  const std::string_view text = argument;
  const std::size_t assignment = find_assignment(text);
  const bool has_value = assignment != std::string_view::npos;
  auto source =
      std::make_shared<Source>(Source{Source::Kind::argument, argument.substr(0, assignment), argument});
  const auto fail = [&](std::size_t offset, std::size_t length, std::string message,
                        std::vector<std::string> hints = {}) {
    diagnostics.error(TextPlaces(text).origin(source, offset, length), std::move(message), std::move(hints));
  };

  Setting setting{.source = source, .layer = layer};
  std::size_t key_start = 0, key_end = has_value ? assignment : text.size();
  if (text.starts_with('~')) {
    setting.action = Setting::Action::remove;
    key_start = 1;
    if (has_value) return fail(assignment, text.size() - assignment, "~ deletes a key and takes no value");
  } else if (text.starts_with('+')) {
    const std::size_t signs = text.starts_with("++") ? 2 : 1;
    return fail(0, signs, "a leading + is not needed: any key that the schema knows can be set",
                {"write " + argument.substr(signs, assignment - signs) + "=.."});  // it may be a secret
  } else if (!has_value) {
    return fail(0, text.size(), "this sets nothing",
                {"write key=value, key+=value (for a list) or ~key (to delete)"});
  } else if (key_end > 0 && text[key_end - 1] == '+') {
    setting.action = Setting::Action::append;
    --key_end;
  }
  if (key_start == key_end)
    return fail(key_end, 1, "there is no key", {"write key=value, as in optimizer.lr=0.01"});

  auto parsed = parse_key_path(text.substr(key_start, key_end - key_start));
  if (const auto* problem = std::get_if<KeyProblem>(&parsed)) {
    return fail(key_start + problem->offset, problem->length, problem->message);
  }
  setting.path = std::get<KeyPath>(std::move(parsed));
  for (KeyPath::Part& part : setting.path.parts) part.offset += key_start;
  if (setting.action != Setting::Action::remove) {
    auto value = parse_setting_value(source, assignment + 1, layer, diagnostics);
    if (!value) return;
    setting.value = std::move(*value);
  }
  apply_setting(std::move(setting), tree, default_of, diagnostics);
}

}  // namespace runner
