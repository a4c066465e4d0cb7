#include <algorithm>
#include <iterator>

#include "registry/schema_path.hpp"
#include "runner/cli/completion/complete.hpp"
#include "runner/plugins/recipe_plugins.hpp"
#include "runner/resolve/resolve.hpp"

namespace runner::cli {

namespace {

// The recipe as far as it can be understood; a mistake in it must not stop completion.
Value tree_of(const std::string& recipe, const std::vector<std::string>& overrides, const SchemaPath& paths,
              const Session& session) {
  const auto default_of = [&](const Value& tree, std::string_view path) {
    return paths.default_of(tree, path);
  };
  for (const auto& tried : {overrides, std::vector<std::string>{}}) {
    Diagnostics ignored;
    if (auto tree = load_recipe({recipe, session.environment, tried}, default_of, ignored))
      return std::move(*tree);
  }
  return {};
}

bool holds_parts(const TypeInfo& type) {
  return type.kind == TypeInfo::Kind::list && type.element->kind == TypeInfo::Kind::part;
}

// Completions of the text after the "=" of a key.
std::vector<Candidate> values(const FieldInfo& field, const std::string& typed, const Registry& registry) {
  const TypeInfo& type = field.type.kind == TypeInfo::Kind::list ? *field.type.element : field.type;
  std::vector<Candidate> found;
  switch (type.kind) {
    case TypeInfo::Kind::boolean: return {{"true"}, {"false"}};
    case TypeInfo::Kind::path: return file_candidates(typed, false);
    case TypeInfo::Kind::choice:
      for (const ChoiceInfo& choice : type.choices)
        found.push_back({std::string(choice.name), std::string(choice.doc)});
      return found;
    case TypeInfo::Kind::either:
      for (const TypeInfo& alternative : type.alternatives) {
        FieldInfo one = field;
        one.type = alternative;
        std::ranges::move(values(one, typed, registry), std::back_inserter(found));
      }
      return found;
    case TypeInfo::Kind::part:
      for (const Descriptor* descriptor : registry.of_kind(type.part_kind)) {
        found.push_back({std::string(descriptor->name), std::string(descriptor->summary)});
      }
      return found;
    default: break;
  }
  for (const std::string_view word : field.rules.words) {
    if (!word.empty()) found.push_back({std::string(word)});
  }
  return found;
}

// How a key may continue: "=" to set it, "." to go into it, "+=" to add to it.
void add_key(const std::string& path, const FieldInfo& field, const Value& tree, const SchemaPath& paths,
             std::vector<Candidate>& found) {
  const std::string doc = std::string(field.doc);
  const TypeInfo::Kind kind = field.type.kind;
  const bool can_go_into = !paths.keys(tree, path).empty();
  if (kind == TypeInfo::Kind::list) found.push_back({path + "+=", doc});
  if (kind != TypeInfo::Kind::table && !holds_parts(field.type)) {
    found.push_back(
        {path + "=", kind == TypeInfo::Kind::part ? doc : doc + " (" + summary_text(field) + ")"});
  }
  if (can_go_into) found.push_back({path + ".", doc});
}

}  // namespace

std::vector<Candidate> override_candidates(const std::string& recipe,
                                           const std::vector<std::string>& overrides, const std::string& word,
                                           const Session& session) {
  Registry registry = session.registry;
  const SchemaPath paths(recipe_schema(), registry);
  Diagnostics ignored;
  load_recipe_plugins(tree_of(recipe, overrides, paths, session), trusted_places(recipe, session.environment),
                      registry, ignored);
  const Value tree = tree_of(recipe, overrides, paths, session);
  std::vector<Candidate> found;
  if (const auto equals = word.find('='); equals != std::string::npos) {
    const bool appends = equals > 0 && word[equals - 1] == '+';
    const auto field = paths.find(tree, word.substr(0, equals - (appends ? 1 : 0)));
    if (!field || (!appends && field->type.kind == TypeInfo::Kind::list)) return {};
    found = values(*field, word.substr(equals + 1), registry);
    for (Candidate& candidate : found) candidate.text = word.substr(0, equals + 1) + candidate.text;
    return found;
  }
  const bool deletes = word.starts_with("~");
  const std::string typed = deletes ? word.substr(1) : word;
  const auto dot = typed.rfind('.');
  const std::string parent = dot == std::string::npos ? "" : typed.substr(0, dot);
  for (const KnownKey& key : paths.keys(tree, parent)) {
    const std::string path = key_below(parent, key.name);
    if (deletes) {
      found.push_back({"~" + path, std::string(key.field.doc)});
    } else {
      add_key(path, key.field, tree, paths, found);
    }
  }
  return found;
}

}  // namespace runner::cli
