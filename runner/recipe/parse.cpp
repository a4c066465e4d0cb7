#include "runner/recipe/parse.hpp"

#include <algorithm>
#include <sstream>
#include <tuple>
#include <vector>

#include "runner/recipe/nesting.hpp"
#include "runner/recipe/text_places.hpp"

// The parser is compiled into this file alone: errors come back as values, and the sanitizers see inside.
#undef TOML_HEADER_ONLY
#undef TOML_SHARED_LIB
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

namespace runner {

namespace {

class Converter {
 public:
  Converter(std::string_view text, std::shared_ptr<const Source> source, int layer)
      : places_(text), source_(std::move(source)), layer_(layer) {}

  Origin origin(const toml::source_region& region) {
    Origin origin{source_, region.begin.line, 0, 0, layer_};
    const auto begin = places_.offset(region.begin.line, region.begin.column);
    const auto line = places_.line_bounds(region.begin.line);
    const auto end =
        region.end.line == region.begin.line ? places_.offset(region.end.line, region.end.column) : line.end;
    origin.column = static_cast<std::uint32_t>(begin - line.begin + 1);
    origin.length = static_cast<std::uint32_t>(std::max(end, begin) - begin);
    return origin;
  }

  Value value(const toml::node& node) { return Value(data(node), origin(node.source())); }

 private:
  Value::Data data(const toml::node& node) {
    switch (node.type()) {
      case toml::node_type::table: return table(*node.as_table());
      case toml::node_type::array: return array(*node.as_array());
      case toml::node_type::string: return node.as_string()->get();
      case toml::node_type::integer: return node.as_integer()->get();
      case toml::node_type::floating_point: return node.as_floating_point()->get();
      case toml::node_type::boolean: return node.as_boolean()->get();
      case toml::node_type::date: return date(node.as_date()->get());
      case toml::node_type::time: return date(node.as_time()->get());
      case toml::node_type::date_time: return date(node.as_date_time()->get());
      case toml::node_type::none: break;
    }
    return Table{};
  }

  template <class Moment>
  static Date date(const Moment& moment) {
    std::ostringstream text;
    text << moment;
    return Date{text.str()};
  }

  Array array(const toml::array& nodes) {
    Array items;
    items.reserve(nodes.size());
    for (const toml::node& node : nodes) items.push_back(value(node));
    return items;
  }

  Table table(const toml::table& nodes) {
    std::vector<std::pair<const toml::key*, const toml::node*>> members;
    members.reserve(nodes.size());
    for (auto&& [key, node] : nodes) members.emplace_back(&key, &node);
    std::ranges::stable_sort(members, {}, [](const auto& member) {
      const toml::source_position& begin = member.first->source().begin;
      return std::tuple(begin.line, begin.column);
    });
    Table table;
    for (const auto& [key, node] : members) {
      table.append(std::string(key->str()), value(*node), origin(key->source()));
    }
    return table;
  }

  TextPlaces places_;
  std::shared_ptr<const Source> source_;
  int layer_;
};

// toml++ speaks of its own work ("Error while parsing value: .."): the reader wants what it met.
std::string plain_description(std::string_view description) {
  constexpr std::string_view prefix = "Error while parsing ";
  if (description.starts_with(prefix)) description.remove_prefix(prefix.size());
  std::string text(description);
  if (!text.empty() && text[0] >= 'A' && text[0] <= 'Z') text[0] = static_cast<char>(text[0] - 'A' + 'a');
  return text;
}

std::vector<std::string> remedies(std::string_view description) {
  const auto says = [&](std::string_view part) { return description.find(part) != std::string_view::npos; };
  if (says("could not determine value type") || says("parsing boolean")) {
    return {"text needs quotes: key = \"text\"; true and false are written in lower case"};
  }
  if (says("cannot redefine"))
    return {"a key or [section] stands once in a file; repeat with [[section]] for a list"};
  if (says("leading zeroes")) return {"write the number without them, or as a string in quotes"};
  if (says("utf-8")) return {"save the file as UTF-8"};
  return {};
}

}  // namespace

std::optional<Value> parse_toml(std::string_view text, const std::shared_ptr<const Source>& source, int layer,
                                Diagnostics& diagnostics) {
  Converter converter(text, source, layer);
  if (const auto offset = nested_too_deeply(text)) {
    Origin origin = TextPlaces(text).origin(source, *offset, 1);
    origin.layer = layer;
    diagnostics.error(std::move(origin),
                      "is nested more than " + std::to_string(deepest_nesting) + " levels deep here");
    return std::nullopt;
  }
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    const std::string_view description = parsed.error().description();
    diagnostics.error(converter.origin(parsed.error().source()),
                      "not valid TOML: " + plain_description(description), remedies(description));
    return std::nullopt;
  }
  Value tree = converter.value(parsed.table());
  tree.origin = Origin{source};  // the text as a whole: no line of it
  tree.origin.layer = layer;
  return tree;
}

}  // namespace runner
