#include "registry/secrets.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "registry/base/ascii.hpp"
#include "registry/base/suggest.hpp"
#include "registry/base/wording.hpp"

namespace runner {

namespace {

class NameCollector {
 public:
  void add(const Schema& schema) {
    if (!seen_.insert(&schema).second) return;
    for (const FieldInfo& field : schema.fields) {
      if (field.rules.secret) {
        names.insert(std::string(field.name));
        if (!field.rules.renamed_from.empty()) names.insert(std::string(field.rules.renamed_from));
      }
      add(field.type);
    }
  }

  std::set<std::string> names;

 private:
  void add(const TypeInfo& type) {
    if (type.element) add(*type.element);
    for (const TypeInfo& alternative : type.alternatives) add(alternative);
    if (type.schema) add(type.schema());
  }

  std::set<const Schema*> seen_;
};

// Finds the text of a source from a given line to the end.
class Lines {
 public:
  std::string_view from(const Source& source, std::size_t line) {
    auto& starts = starts_[&source];
    if (starts.empty()) {
      starts.push_back(0);
      for (auto end = source.text.find('\n'); end != std::string::npos;
           end = source.text.find('\n', end + 1)) {
        starts.push_back(end + 1);
      }
    }
    return line > 0 && line <= starts.size() ? std::string_view(source.text).substr(starts[line - 1]) : "";
  }

 private:
  std::map<const Source*, std::vector<std::size_t>> starts_;
};

// Keys that hold a secret in any section, even if no component has such a parameter.
constexpr std::array<std::string_view, 10> secret_words{
    "authorization", "passphrase", "apikey",     "token",       "password",
    "passwd",        "accesskey",  "privatekey", "credentials", "secret"};

// As the words above: api_key, API-KEY and apiKey are the same.
std::string plain_words(std::string_view text) {
  std::string plain = ascii_lower(text);
  std::erase_if(plain, [](char c) { return c == '_' || c == '-'; });
  return plain;
}

bool sounds_secret(std::string_view key) {
  const std::string word = plain_words(key);
  // A typing mistake must not reveal it.
  return std::ranges::any_of(secret_words, [&](std::string_view ending) {
    return word.ends_with(ending) || (word.size() > 3 && edit_distance(word, ending) <= 1);
  });
}

// Which lines of which source hold a secret.
class SecretLines {
 public:
  explicit SecretLines(const std::vector<std::string>& names) : names_(names) {}

  void search(const Value& value, bool inside) {
    const auto* text = value.as<std::string>();
    if (inside || (text && holds_password(*text))) add(value.origin);
    if (const auto* list = value.as<Array>()) {
      for (const Value& item : *list) search(item, inside);
    } else if (const auto* table = value.as<Table>()) {
      for (const Member& member : *table) {
        const bool is_secret = inside || sounds_secret(member.key) || nearest(member.key, names_).has_value();
        if (is_secret) add(member.key_origin);
        search(member.value, is_secret);
      }
    }
  }

  bool contains(const Origin& origin) const {
    const auto lines = lines_.find(origin.source.get());
    const auto rest = rest_.find(origin.source.get());
    return (lines != lines_.end() && lines->second.contains(origin.line)) ||
           (rest != rest_.end() && origin.line >= rest->second);
  }

 private:
  void add(const Origin& origin) {
    if (!origin.source || origin.line == 0) return;
    lines_[origin.source.get()].insert(origin.line);
    // A text over several lines may end anywhere: nothing after its start is shown.
    std::string_view text = text_.from(*origin.source, origin.line);
    text.remove_prefix(std::min<std::size_t>(origin.column > 0 ? origin.column - 1 : 0, text.size()));
    if (!text.starts_with("\"\"\"") && !text.starts_with("'''") && !text.starts_with('[')) return;
    const auto [first, is_new] = rest_.emplace(origin.source.get(), origin.line);
    if (!is_new) first->second = std::min(first->second, origin.line);
  }

  const std::vector<std::string>& names_;
  Lines text_;
  std::map<const Source*, std::set<std::uint32_t>> lines_;
  std::map<const Source*, std::uint32_t> rest_;
};

void collect_secret_texts(const Value& value, bool secret, std::vector<std::string>& texts) {
  constexpr std::size_t least = 6;  // shorter ones occur in too many harmless words
  secret = secret || value.secret;
  if (const auto* text = value.as<std::string>(); text && secret && text->size() >= least)
    texts.push_back(*text);
  if (const auto* list = value.as<Array>()) {
    for (const Value& item : *list) collect_secret_texts(item, secret, texts);
  } else if (const auto* table = value.as<Table>()) {
    for (const Member& member : *table) collect_secret_texts(member.value, secret, texts);
  }
}

// What a message says instead of the value at this place: "the value of ${env:NAME}". Neither a default in
// the reference nor the text around it is shown: they may be secrets, too.
std::string name_of_variable(const Origin& origin, Lines& lines) {
  constexpr std::string_view opening = "${env:", unknown = "this value";
  if (!origin.source || origin.column == 0) return std::string(unknown);
  std::string_view written = lines.from(*origin.source, origin.line);
  written = written.substr(std::min<std::size_t>(origin.column - 1, written.size()), origin.length);
  const std::size_t begin = written.find(opening);
  if (begin == std::string_view::npos) return std::string(unknown);
  written.remove_prefix(begin + opening.size());
  return "the value of ${env:" + escaped_name(written.substr(0, written.find_first_of(":}"))) + "}";
}

// The values of environment variables, as messages quote them, and what is written instead.
using Variables = std::vector<std::pair<std::string, std::string>>;
void collect_variables(const Value& value, Lines& lines, Variables& found) {
  const auto* text = value.as<std::string>();
  if (value.from_environment && text && !text->empty())
    found.emplace_back(in_quotes(*text), name_of_variable(value.origin, lines));
  if (const auto* list = value.as<Array>()) {
    for (const Value& item : *list) collect_variables(item, lines, found);
  } else if (const auto* table = value.as<Table>()) {
    for (const Member& member : *table) collect_variables(member.value, lines, found);
  }
}

void replace_all(std::string& where, const std::string& what, std::string_view by) {
  for (auto at = where.find(what); at != std::string::npos; at = where.find(what, at + by.size()))
    where.replace(at, what.size(), by);
}

void mark_passwords(Value& value) {
  if (const auto* text = value.as<std::string>()) {
    value.secret = value.secret || holds_password(*text);
  } else if (auto* list = value.as<Array>()) {
    for (Value& item : *list) mark_passwords(item);
  } else if (auto* table = value.as<Table>()) {
    for (Member& member : *table) mark_passwords(member.value);
  }
}

// True if the value, or an item of the list, contains one of the texts. The members of a table are marked one
// by one.
bool mark_repeated(Value& value, const std::vector<std::string>& texts) {
  bool repeats = false;
  if (const auto* text = value.as<std::string>()) {
    repeats = std::ranges::any_of(
        texts, [&](const std::string& secret) { return text->find(secret) != std::string::npos; });
  } else if (auto* list = value.as<Array>()) {
    for (Value& item : *list) repeats = mark_repeated(item, texts) || repeats;
  } else if (auto* table = value.as<Table>()) {
    for (Member& member : *table) mark_repeated(member.value, texts);
  }
  value.secret = value.secret || repeats;
  return repeats;
}

}  // namespace

bool holds_password(std::string_view text) {
  const std::size_t scheme = text.find("://");
  if (scheme == std::string_view::npos) return false;
  text.remove_prefix(scheme + 3);
  text = text.substr(0, text.find_first_of("/?#"));
  const std::size_t at = text.rfind('@'), colon = text.find(':');
  return at != std::string_view::npos && colon < at && at - colon > 1;
}

void hide_variables(const Value& tree, Diagnostics& diagnostics) {
  Lines lines;
  Variables variables;
  collect_variables(tree, lines, variables);
  if (variables.empty()) return;
  const std::vector<Diagnostic> all = diagnostics.all();
  diagnostics = {};
  for (Diagnostic diagnostic : all) {
    for (const auto& [text, instead] : variables) {
      replace_all(diagnostic.message, text, instead);
      for (std::string& hint : diagnostic.hints) replace_all(hint, text, instead);
    }
    diagnostics.add(std::move(diagnostic));
  }
}

void follow_secrets(Value& recipe) {
  mark_passwords(recipe);
  std::vector<std::string> texts;
  collect_secret_texts(recipe, false, texts);
  if (!texts.empty()) mark_repeated(recipe, texts);
}

std::vector<std::string> secret_names(const Schema& schema, const Registry& registry) {
  NameCollector collector;
  collector.add(schema);
  for (const KindInfo* kind : registry.kinds()) {
    collector.add(kind->common());
    for (const Descriptor* descriptor : registry.of_kind(kind->name)) collector.add(descriptor->own_schema());
  }
  return {collector.names.begin(), collector.names.end()};
}

void hide_secrets(const Value& tree, const std::vector<std::string>& names, Diagnostics& diagnostics) {
  if (diagnostics.all().empty()) return;
  SecretLines secrets(names);
  secrets.search(tree, false);
  diagnostics.hide_sources([&](const Origin& origin) { return secrets.contains(origin); });
}

void hide_lines_naming(const std::vector<std::string>& names, Diagnostics& diagnostics) {
  Lines text;
  diagnostics.hide_sources([&](const Origin& origin) {
    if (!origin.source) return false;
    const std::string_view rest = text.from(*origin.source, origin.line);
    const std::string_view written = rest.substr(0, rest.find('\n'));
    const std::string line = plain_words(written);
    const auto on_line = [&](std::string_view word) { return line.find(word) != std::string::npos; };
    return holds_password(written) || std::ranges::any_of(secret_words, on_line) ||
           std::ranges::any_of(names, [&](const std::string& name) { return on_line(plain_words(name)); });
  });
}

}  // namespace runner
