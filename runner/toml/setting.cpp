#include "runner/toml/setting.hpp"

#include <utility>
#include <vector>

#include "registry/base/suggest.hpp"
#include "registry/base/wording.hpp"
#include "runner/toml/merge.hpp"

namespace runner {

Origin Setting::origin(std::size_t part) const {
  const KeyPath::Part& place = path.parts.at(part);
  return {source, 1, static_cast<std::uint32_t>(place.offset + 1), static_cast<std::uint32_t>(place.length),
          layer};
}

namespace {

class Application {
 public:
  Application(Setting setting, Value& tree, const DefaultOf& default_of, Diagnostics& diagnostics)
      : setting_(std::move(setting)), tree_(tree), default_of_(default_of), diagnostics_(diagnostics) {}

  void run() {
    if (setting_.path.parts.front().text == "extends") {
      return fail(0, "extends can only be set in a recipe file");
    }
    if (setting_.action == Setting::Action::remove) return remove();
    // Checked first, so that a mistake does not leave the tree half changed.
    if (!reachable()) return;
    if (setting_.action == Setting::Action::append) return append();
    Value& target = leaf();
    if (made_) {
      target = std::move(setting_.value);
    } else {
      merge_over(target, std::move(setting_.value));
    }
  }

 private:
  const std::vector<KeyPath::Part>& parts() const { return setting_.path.parts; }
  std::string path_to(std::size_t part) const { return setting_.path.text(part + 1); }

  void fail(std::size_t part, std::string message, std::vector<std::string> hints = {}) {
    diagnostics_.error(setting_.origin(part), std::move(message), std::move(hints));
  }

  // The value that one part of the key leads to; null if there is none.
  Value* step(Value& from, const std::string& part) const {
    if (auto* table = from.as<Table>()) return table->find(part);
    if (auto* list = from.as<Array>()) {
      const auto index = list_index(part, *list);
      return index ? &(*list)[*index] : nullptr;
    }
    return nullptr;
  }

  Value& add_table(Value& parent, std::size_t part) const {
    const Origin origin = setting_.origin(part);
    return parent.as<Table>()->append(parts()[part].text, Value(Value::Data(Table{}), origin), origin);
  }

  bool reachable() {
    Value* node = &tree_;
    for (std::size_t i = 0; i < parts().size(); ++i) {
      if (const auto* list = node->as<Array>(); list && !list_index(parts()[i].text, *list)) {
        no_such_item(i, *list);
        return false;
      }
      if (!node->as<Table>() && !node->as<Array>() && !node->as<std::string>()) {
        fail(i, setting_.path.text(i) + " is " + std::string(type_name(*node)) +
                    ", so nothing can be set inside it");
        return false;
      }
      Value* next = step(*node, parts()[i].text);
      if (!next) next = list_by_default(*node, i);
      if (!next) return true;
      node = next;
    }
    return true;
  }

  // A list that is not in the recipe is changed starting from its default. The sections around it, from this
  // part on, may be missing, too.
  Value* list_by_default(Value& parent, std::size_t part) {
    if (!default_of_) return nullptr;
    const std::size_t end = parts().size() - (setting_.action == Setting::Action::append ? 0 : 1);
    for (std::size_t last = part; last < end; ++last) {
      std::optional<Value> held = default_of_(tree_, path_to(last));
      if (!held || !held->as<Array>()) continue;
      if (parent.as<std::string>()) expand_name(parent);
      Value* section = &parent;
      for (std::size_t i = part; i < last; ++i) section = &add_table(*section, i);
      section->as<Table>()->append(parts()[last].text, std::move(*held), setting_.origin(last));
      return step(parent, parts()[part].text);
    }
    return nullptr;
  }

  void no_such_item(std::size_t part, const Array& list) {
    const std::string name = setting_.path.text(part);
    const std::string count = list.empty() ? "is empty" : "has " + counted(list.size(), "item");
    std::vector<std::string> hints;
    if (!list.empty())
      hints.push_back("the first one is " + name + ".0, the last one " + name + "." +
                      std::to_string(list.size() - 1));
    hints.push_back("to add one: " + name + "+=..");
    fail(part, "there is no " + path_to(part) + ": the list " + name + " " + count, std::move(hints));
  }

  // The value that the key names, created if it does not exist yet.
  Value& leaf() {
    Value* node = &tree_;
    for (std::size_t i = 0; i < parts().size(); ++i) {
      if (node->as<std::string>()) expand_name(*node);
      const bool last = i + 1 == parts().size();
      Member* member = node->as<Table>() ? node->as<Table>()->member(parts()[i].text) : nullptr;
      if (member && last) member->key_origin = setting_.origin(i);
      Value* next = step(*node, parts()[i].text);
      node = next ? next : &add_table(*node, i);
      if (!next && last) made_ = true;
    }
    return *node;
  }

  void append() {
    Value& target = leaf();
    if (made_) target.data = Array{};
    if (auto* list = target.as<Array>()) return list->push_back(std::move(setting_.value));
    fail(parts().size() - 1,
         setting_.path.text() + " is " + std::string(type_name(target)) +
             ", not a list: += can only add to a list",
         {"to replace it: " + setting_.path.text() + "=.."});
  }

  void remove() {
    Value* node = &tree_;
    for (std::size_t i = 0; i + 1 < parts().size(); ++i) {
      Value* next = step(*node, parts()[i].text);
      if (!next) return nothing_to_remove(*node, i);
      node = next;
    }
    const std::string& last = parts().back().text;
    if (!step(*node, last)) return nothing_to_remove(*node, parts().size() - 1);
    if (auto* table = node->as<Table>()) {
      table->erase(last);
    } else {
      Array& list = *node->as<Array>();
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(*list_index(last, list)));
    }
  }

  void nothing_to_remove(const Value& where, std::size_t part) {
    if (const auto* list = where.as<Array>()) return no_such_item(part, *list);
    std::vector<std::string> names;
    if (const auto* table = where.as<Table>()) {
      for (const Member& member : *table) names.push_back(member.key);
    }
    std::vector<std::string> hints;
    if (const auto meant = nearest(parts()[part].text, names)) {
      const std::string before = part == 0 ? "" : setting_.path.text(part) + ".";
      hints.push_back("did you mean ~" + before + key_to_toml(*meant) + "?");
    }
    fail(part, "the recipe does not set " + path_to(part) + ", so there is nothing to delete",
         std::move(hints));
  }

  Setting setting_;
  Value& tree_;
  const DefaultOf& default_of_;
  Diagnostics& diagnostics_;
  bool made_ = false;  // the key did not exist before
};

}  // namespace

void apply_setting(Setting setting, Value& tree, const DefaultOf& default_of, Diagnostics& diagnostics) {
  Application(std::move(setting), tree, default_of, diagnostics).run();
}

}  // namespace runner
