#include "runner/resolve/recipe_changes.hpp"

#include <algorithm>

#include "runner/terminal/text.hpp"

namespace runner {

namespace {

// A secret may be inside a component or a list that is shown as a whole.
Value without_secrets(const Value& value) {
  if (const auto* list = value.as<Array>()) {
    Array items;
    for (const Value& item : *list)
      if (!item.secret) items.push_back(without_secrets(item));
    return Value(Value::Data(std::move(items)));
  }
  if (const auto* table = value.as<Table>()) {
    Table members;
    for (const Member& member : *table)
      if (!member.value.secret) members.append(member.key, without_secrets(member.value), {});
    return Value(Value::Data(std::move(members)));
  }
  return Value(value.data);
}

OnResume effect_of(OnResume mark) {
  switch (mark) {
    case OnResume::unmarked:
    case OnResume::course: return OnResume::course;
    case OnResume::fixed: return OnResume::fixed;
    default: return OnResume::harmless;
  }
}

class Comparison {
 public:
  explicit Comparison(const Registry& registry) : registry_(registry) {}

  std::vector<RecipeChange> take() { return std::move(changes_); }

  // `inherited` is the mark of the nearest declaration around these keys.
  void tables(const Table* before, const Table* now, const Schema& schema, OnResume inherited,
              const std::string& path) {
    for (const FieldInfo& field : schema.fields) {
      const Value* old_value = before ? before->find(field.name) : nullptr;
      const Value* new_value = now ? now->find(field.name) : nullptr;
      const OnResume mark = mark_of(field, inherited);
      if ((!old_value && !new_value) || field.rules.code || mark == OnResume::not_compared) continue;
      values(old_value, new_value, field.type, mark, key_below(path, field.name));
    }
  }

 private:
  OnResume mark_of(const FieldInfo& field, OnResume inherited) const {
    if (field.rules.on_resume != OnResume::unmarked) return field.rules.on_resume;
    const TypeInfo* element = field.type.kind == TypeInfo::Kind::list ? field.type.element.get() : nullptr;
    return element && element->kind == TypeInfo::Kind::part ? part_mark(*element, inherited) : inherited;
  }

  void values(const Value* before, const Value* now, const TypeInfo& type, OnResume mark,
              const std::string& path) {
    if (before && now && same_data(*before, *now)) return;
    if (before && now && type.kind == TypeInfo::Kind::part) return parts(*before, *now, type, mark, path);
    if (before && now && type.kind == TypeInfo::Kind::table)
      return tables(before->as<Table>(), now->as<Table>(), type.schema(), mark, path);
    const Array* old_list = before ? before->as<Array>() : nullptr;
    const Array* new_list = now ? now->as<Array>() : nullptr;
    if (old_list && new_list && type.element && old_list->size() == new_list->size()) {
      for (std::size_t i = 0; i < old_list->size(); ++i)
        values(&(*old_list)[i], &(*new_list)[i], *type.element, mark, path + "." + std::to_string(i));
      return;
    }
    note(path, before, now, mark);
  }

  void parts(const Value& before, const Value& now, const TypeInfo& type, OnResume mark,
             const std::string& path) {
    const Value* old_name = before.as<Table>() ? before.as<Table>()->find("name") : nullptr;
    const Value* new_name = now.as<Table>() ? now.as<Table>()->find("name") : nullptr;
    if (!old_name || !new_name || !same_data(*old_name, *new_name))
      return note(path, &before, &now, part_mark(type, mark));
    const Descriptor* component = registry_.find(type.part_kind, *new_name->as<std::string>());
    if (!component) return note(path, &before, &now, OnResume::fixed);
    tables(before.as<Table>(), now.as<Table>(), component->schema(), component->kind->on_resume.parameters,
           path);
  }

  // The mark for replacing this component by another one.
  OnResume part_mark(const TypeInfo& type, OnResume mark) const {
    for (const KindInfo* kind : registry_.kinds()) {
      if (kind->name == type.part_kind) return kind->on_resume.part;
    }
    return mark;
  }

  void note(const std::string& path, const Value* before, const Value* now, OnResume mark) {
    if (now && now->secret) return;  // not in the saved recipe, and never shown
    const auto shown = [](const Value* value) { return value ? to_toml(without_secrets(*value)) : ""; };
    changes_.push_back({path, shown(before), shown(now), effect_of(mark), {}, mark});
  }

  const Registry& registry_;
  std::vector<RecipeChange> changes_;
};

}  // namespace

std::vector<RecipeChange> recipe_changes(const Value& before, const Value& now, const Schema& schema,
                                         const Registry& registry) {
  Comparison comparison(registry);
  comparison.tables(before.as<Table>(), now.as<Table>(), schema, OnResume::unmarked, "");
  return comparison.take();
}

std::string_view effect_text(OnResume effect) {
  switch (effect) {
    case OnResume::harmless: return "harmless";
    case OnResume::fixed: return "impossible: the saved state does not fit";
    default: return "changes the results";
  }
}

std::string changes_table(const std::vector<RecipeChange>& changes) {
  std::vector<std::pair<std::string, std::string>> rows;
  for (const RecipeChange& change : changes) {
    const auto shown = [](const std::string& text) { return text.empty() ? "(not set)" : text; };
    rows.emplace_back(change.key, shown(change.before) + " -> " + shown(change.now) + "  " +
                                      std::string(effect_text(change.effect)) +
                                      (change.why.empty() ? "" : ": " + change.why));
  }
  return two_columns(rows);
}

}  // namespace runner
