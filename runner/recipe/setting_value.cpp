#include "runner/recipe/setting_value.hpp"

#include <string_view>

#include "registry/utf8.hpp"
#include "runner/recipe/parse.hpp"
#include "runner/recipe/text_places.hpp"

namespace runner {

namespace {

// "a.b=1" as the TOML "_  =1": what is parsed stands at the same place as in the argument.
std::string as_toml(std::string_view text, std::size_t offset) {
  constexpr std::size_t shortest_key = 2;
  std::string toml(std::max(offset, shortest_key), ' ');
  toml.front() = '_';
  toml.back() = '=';
  return toml.append(text.substr(offset));
}

std::optional<Value> single_value(const std::string& toml, const std::shared_ptr<const Source>& source,
                                  int layer, Diagnostics& diagnostics) {
  std::optional<Value> tree = parse_toml(toml, source, layer, diagnostics);
  if (!tree) return std::nullopt;
  Value* value = tree->as<Table>()->size() == 1 ? tree->as<Table>()->find("_") : nullptr;
  if (!value) return std::nullopt;
  // A comment at the end would be dropped without a word. Something that follows a value is an error; in a
  // comment it is not.
  Diagnostics unheard;
  if (toml.find('#') != std::string::npos && parse_toml(toml + " x", source, layer, unheard))
    return std::nullopt;
  return std::move(*value);
}

}  // namespace

std::optional<Value> parse_setting_value(const std::shared_ptr<const Source>& source, std::size_t offset,
                                         int layer, Diagnostics& diagnostics) {
  const std::string_view text = std::string_view(source->text).substr(offset);
  Origin whole = TextPlaces(source->text).origin(source, offset, text.size());
  whole.layer = layer;
  if (!is_utf8(text)) {
    diagnostics.error(std::move(whole), "the value is not valid UTF-8");
    return std::nullopt;
  }
  const auto first = text.find_first_not_of(" \t\r\n");
  const bool looks_like_toml = first != std::string_view::npos &&
                               std::string_view("[{\"'").find(text[first]) != std::string_view::npos;
  Diagnostics problems;
  std::optional<Value> value;
  if (first != std::string_view::npos)
    value = single_value(as_toml(source->text, offset), source, layer, problems);
  if (!value && looks_like_toml) {
    // Most often the shell took the quotes away.
    const Origin origin = problems.all().empty() ? whole : problems.all().front().origin;
    const std::string why = problems.all().empty() ? "more than one value" : problems.all().front().message;
    diagnostics.error(
        origin, "cannot read the value: " + why,
        {"put the whole argument in single quotes, so that the shell leaves it alone: 'key=[\"a\", \"b\"]'"});
    return std::nullopt;
  }
  if (!value) value = Value(Value::Data(std::string(text)), whole);
  value->typed = std::string(text);
  return value;
}

}  // namespace runner
