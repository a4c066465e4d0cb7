#include "runner/toml/resolve_references.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "registry/base/suggest.hpp"
#include "registry/base/wording.hpp"
#include "runner/toml/key_path.hpp"
#include "runner/toml/nesting.hpp"
#include "runner/toml/reference.hpp"
#include "runner/toml/setting_value.hpp"

namespace runner {

namespace {

constexpr std::string_view environment_prefix = "env:";

constexpr std::size_t most_errors = 200;   // more would not help
constexpr std::size_t longest_chain = 32;  // references that lead to references
// Bytes that references may add: a few lines could ask for terabytes.
constexpr std::size_t largest_expansion = 16 << 20;

struct Measure {
  std::size_t bytes = 0, depth = 0;
};

Measure measure(const Value& value) {
  Measure sum{sizeof(Value), 0};
  const auto add = [&](const Value& inner) {
    const Measure part = measure(inner);
    sum.bytes += part.bytes;
    sum.depth = std::max(sum.depth, part.depth + 1);
  };
  if (const auto* text = value.as<std::string>()) sum.bytes += text->size();
  if (const auto* list = value.as<Array>()) {
    for (const Value& item : *list) add(item);
  }
  if (const auto* table = value.as<Table>()) {
    for (const Member& member : *table) add(member.value);
  }
  return sum;
}

// The value of a variable counts as written at the reference. It must not count as typed by the user, because
// the recipe chooses the variable and may give its default.
void place_at(const Origin& origin, bool from_environment, Value& value) {
  value.origin = origin;
  value.from_environment = from_environment;
  if (auto* list = value.as<Array>()) {
    for (Value& item : *list) place_at(origin, from_environment, item);
  } else if (auto* table = value.as<Table>()) {
    for (Member& member : *table) {
      member.key_origin = origin;
      place_at(origin, from_environment, member.value);
    }
  }
}

class Resolver {
 public:
  Resolver(Value& tree, const std::map<std::string, std::string>& environment, const DefaultOf& default_of,
           Diagnostics& diagnostics, std::vector<UsedVariable>* used)
      : tree_(tree),
        environment_(environment),
        default_of_(default_of),
        diagnostics_(diagnostics),
        used_(used) {}

  void run() { resolve(tree_); }

 private:
  struct Step {
    const Value* value;
    std::string reference;  // the one being looked up
  };

  // Fills in all references in the value. False: there was an error, which has been reported.
  bool resolve(Value& value) {
    if (done_.contains(&value)) return true;
    bool good = true;
    if (auto* list = value.as<Array>()) {
      for (Value& item : *list) good = resolve(item) && good;
    } else if (auto* table = value.as<Table>()) {
      for (Member& member : *table) good = resolve(member.value) && good;
    } else if (value.as<std::string>()) {
      return resolve_text(value);
    }
    if (good) done_.insert(&value);
    return good;
  }

  bool resolve_text(Value& value) {
    if (failed_.contains(&value) || diagnostics_.errors() >= most_errors) return false;
    if (expanded_ > largest_expansion) return false;  // was reported
    const ReferenceText pieces = split_references(*value.as<std::string>());
    std::optional<Value> result;
    if (!pieces.problem.empty()) {
      fail(value, "", pieces.problem, {"to write \"${\" itself: \"$${\""});
    } else if (pieces.plain()) {
      if (!pieces.all.empty()) value.data = pieces.all.front().text;
      done_.insert(&value);
      return true;
    } else if (enter(value)) {
      result = pieces.whole() ? look_up(value, pieces.all.front().text) : interpolate(value, pieces);
      chain_.pop_back();
    }
    if (!result) {
      failed_.insert(&value);
      return false;
    }
    value.data = std::move(result->data);
    value.typed = std::move(result->typed);
    value.from_environment = result->from_environment;
    mark_done(value);
    return true;
  }

  bool enter(const Value& value) {
    const auto again = std::ranges::find(chain_, &value, &Step::value);
    if (again != chain_.end()) {
      std::string way;
      for (auto step = again; step != chain_.end(); ++step) way += "${" + step->reference + "} -> ";
      fail(value, again->reference, "references lead in a circle: " + way + "${" + again->reference + "}");
      return false;
    }
    if (chain_.size() >= longest_chain) {
      fail(value, "",
           "references lead to references more than " + std::to_string(longest_chain) + " times over");
      return false;
    }
    chain_.push_back({&value, ""});
    return true;
  }

  // Checked before anything is copied, so that many references to one long list fail early.
  bool affordable(const Value& value, const Value& result) {
    const Measure size = measure(result);
    if (size.depth > deepest_nesting) {
      fail(value, "", "references nest lists or tables too deeply");
      return false;
    }
    const bool fits_so_far = expanded_ <= largest_expansion;
    expanded_ += size.bytes;
    if (expanded_ <= largest_expansion) return true;
    if (fits_so_far) fail(value, "", "references make the recipe larger than 16 MB");
    return false;
  }

  // A copied value was resolved at its own place: a "${" in it is literal.
  void mark_done(const Value& value) {
    done_.insert(&value);
    if (const auto* list = value.as<Array>()) {
      for (const Value& item : *list) mark_done(item);
    } else if (const auto* table = value.as<Table>()) {
      for (const Member& member : *table) mark_done(member.value);
    }
  }

  std::optional<Value> interpolate(const Value& value, const ReferenceText& pieces) {
    std::string text;
    bool holds_variable = false;
    for (const ReferenceText::Piece& piece : pieces.all) {
      if (!piece.is_reference) {
        text += piece.text;
        continue;
      }
      const std::optional<Value> part = look_up(value, piece.text);
      if (!part) return std::nullopt;
      if (part->as<Array>() || part->as<Table>()) {
        fail(
            value, piece.text,
            "${" + piece.text + "} is " + std::string(type_name(*part)) + ", which cannot be part of a text");
        return std::nullopt;
      }
      holds_variable = holds_variable || part->from_environment;
      const auto* words = part->as<std::string>();
      // As typed: run.name=1.10 names the run "1.10", not "1.1".
      text += words ? *words : part->typed.empty() ? to_toml(*part) : part->typed;
      if (text.size() > largest_expansion) break;  // reported as too large
    }
    Value whole{Value::Data(std::move(text))};
    whole.from_environment = holds_variable;
    if (!affordable(value, whole)) return std::nullopt;
    return whole;
  }

  std::optional<Value> look_up(const Value& value, const std::string& reference) {
    chain_.back().reference = reference;
    if (reference.starts_with(environment_prefix)) return variable(value, reference);
    auto parsed = parse_key_path(reference);
    if (const auto* problem = std::get_if<KeyProblem>(&parsed)) {
      fail(value, reference, "${" + reference + "} is not a reference: " + problem->message,
           {"write ${section.key}, ${env:NAME} or ${env:NAME:default}; to write \"${\" itself: \"$${\""});
      return std::nullopt;
    }
    return look_up(value, reference, std::get<KeyPath>(parsed));
  }

  std::optional<Value> look_up(const Value& value, const std::string& reference, const KeyPath& path) {
    Value* node = &tree_;
    for (std::size_t i = 0; i < path.parts.size(); ++i) {
      const std::string& part = path.parts[i].text;
      // A reference on the way has to be followed before anything inside it can be found.
      if (node->as<std::string>() && !resolve(*node)) return std::nullopt;
      Value* next = nullptr;
      if (auto* table = node->as<Table>()) {
        next = find(*table, part);
      } else if (auto* list = node->as<Array>()) {
        const auto index = list_index(part, *list);
        next = index ? &(*list)[*index] : nullptr;
      } else if (node->as<std::string>() && part == "name") {
        next = node;  // a part may be written as its bare name
      }
      if (!next) {
        if (!resolve_name(*node)) return std::nullopt;
        if (auto held = default_of_ ? default_of_(tree_, path.text()) : std::nullopt) return held;
        unknown(value, reference, *node, path, i);
        return std::nullopt;
      }
      node = next;
    }
    if (!resolve(*node)) {
      // Its own error was reported at its place.
      return std::nullopt;
    }
    if (!affordable(value, *node)) return std::nullopt;
    return *node;
  }

  // Which defaults there are depends on the component, whose name may be a reference as well.
  bool resolve_name(Value& node) {
    auto* table = node.as<Table>();
    Value* name = table ? table->find("name") : nullptr;
    return !name || std::ranges::find(chain_, name, &Step::value) != chain_.end() || resolve(*name);
  }

  // Large tables get an index, because Table::find is slow for thousands of keys. Keys do not move while
  // references are filled in.
  Value* find(Table& table, const std::string& key) {
    constexpr std::size_t few = 64;
    if (table.size() <= few) return table.find(key);
    auto& index = indexes_[&table];
    if (index.empty()) {
      for (const Member& member : table) index.emplace(member.key, index.size());
    }
    const auto found = index.find(key);
    return found == index.end() ? nullptr : &table.begin()[static_cast<std::ptrdiff_t>(found->second)].value;
  }

  void unknown(const Value& value, const std::string& reference, const Value& where, const KeyPath& path,
               std::size_t part) {
    std::vector<std::string> names, hints;
    constexpr std::size_t most_names = 1000;  // more than anyone types
    if (const auto* table = where.as<Table>()) {
      for (const Member& member : *table) {
        if (names.size() == most_names) break;
        names.push_back(member.key);
      }
    }
    if (const auto* list = where.as<Array>()) {
      hints.push_back(path.text(part) + " has " + counted(list->size(), "item") + ", counted from 0");
    }
    if (const auto meant = nearest(path.parts[part].text, names)) {
      KeyPath better = path;
      better.parts[part].text = *meant;
      hints.push_back("did you mean ${" + better.text() + "}?");
    }
    fail(value, reference, "${" + reference + "} refers to something that is not set", std::move(hints));
  }

  std::optional<Value> variable(const Value& value, const std::string& reference) {
    const std::string_view rest = std::string_view(reference).substr(environment_prefix.size());
    const std::size_t colon = rest.find(':');
    const std::string name(rest.substr(0, colon));
    if (name.empty()) {
      fail(value, reference, "${" + reference + "} names no variable",
           {"write ${env:NAME} or ${env:NAME:default}"});
      return std::nullopt;
    }
    const auto found = environment_.find(name);
    if (found == environment_.end() && colon == std::string_view::npos) {
      fail(value, reference, "the environment variable " + name + " is not set",
           {"set it, or give a default: ${env:" + name + ":default}"});
      return std::nullopt;
    }
    const bool set = found != environment_.end();
    auto source = std::make_shared<Source>(Source{Source::Kind::environment, name, name + "="});
    const std::size_t offset = source->text.size();
    source->text += set ? found->second : std::string(rest.substr(colon + 1));
    Diagnostics problems;
    auto held = parse_setting_value(source, offset, 0, problems);
    if (held) {
      if (set && used_) used_->push_back({name, origin_of_reference(reference, value.origin)});
      place_at(value.origin, set, *held);
      return affordable(value, *held) ? std::move(held) : std::nullopt;
    }
    // Never with the content: it may be a secret.
    fail(value, reference,
         (set ? "the environment variable " + name : "the default in ${" + reference + "}") +
             " cannot be read as a value");
    return std::nullopt;
  }

  void fail(const Value& value, const std::string& reference, std::string message,
            std::vector<std::string> hints = {}) {
    diagnostics_.error(origin_of_reference(reference, value.origin), std::move(message), std::move(hints));
  }

  Value& tree_;
  const std::map<std::string, std::string>& environment_;
  const DefaultOf& default_of_;
  Diagnostics& diagnostics_;
  std::vector<UsedVariable>* used_;
  std::vector<Step> chain_;  // values being filled in, each for the one before
  std::unordered_set<const Value*> done_, failed_;
  std::unordered_map<const Table*, std::unordered_map<std::string_view, std::size_t>> indexes_;
  std::size_t expanded_ = 0;
};

}  // namespace

void resolve_references(Value& tree, const std::map<std::string, std::string>& environment,
                        const DefaultOf& default_of, Diagnostics& diagnostics,
                        std::vector<UsedVariable>* used) {
  Resolver(tree, environment, default_of, diagnostics, used).run();
}

}  // namespace runner
