#include "runner/toml/inherit.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "runner/toml/merge.hpp"
#include "runner/toml/parse.hpp"
#include "runner/toml/read_file.hpp"

namespace runner {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t deepest_inheritance = 32;
constexpr int most_files = 256;  // if each extends the next one twice, their number grows exponentially

class Inheritance {
 public:
  Inheritance(int& next_layer, Diagnostics& diagnostics)
      : next_layer_(next_layer), diagnostics_(diagnostics) {}

  std::optional<Value> load(const fs::path& path, const Origin& mentioned) {
    std::error_code error;
    fs::path identity = fs::weakly_canonical(path, error);
    if (error) identity = path.lexically_normal();
    if (too_much() || !may_open(path, identity, mentioned)) return std::nullopt;
    const auto source = read_recipe_file(path, mentioned, diagnostics_);
    if (!source) return std::nullopt;
    bytes_ += source->text.size();
    if (too_much()) {
      diagnostics_.error(mentioned, "the recipe and the files it extends have more than 8 MB in all");
      return std::nullopt;
    }
    // The layer is known only after all bases have been read, so the file is parsed twice: first only to find
    // its bases.
    std::optional<Value> tree = parse_toml(source->text, source, next_layer_, diagnostics_);
    if (!tree) return std::nullopt;
    const std::optional<Value> extends = take_extends(*tree);
    if (!extends) {
      ++next_layer_;
      return tree;
    }
    chain_.push_back({identity, path});
    std::optional<Value> merged = load_bases(*extends, path.parent_path());
    chain_.pop_back();
    if (!merged) return std::nullopt;
    tree = parse_toml(source->text, source, next_layer_++, diagnostics_);
    take_extends(*tree);
    merge_over(*merged, std::move(*tree));
    return merged;
  }

 private:
  struct Opened {
    fs::path identity, name;
  };

  static std::optional<Value> take_extends(Value& tree) {
    const Value* extends = tree.as<Table>()->find("extends");
    if (!extends) return std::nullopt;
    Value taken = *extends;
    tree.as<Table>()->erase("extends");
    return taken;
  }

  bool too_much() const { return bytes_ > largest_recipe; }

  bool may_open(const fs::path& path, const fs::path& identity, const Origin& mentioned) {
    const auto again = std::ranges::find(chain_, identity, &Opened::identity);
    if (again != chain_.end()) {
      std::string way;
      for (auto step = again; step != chain_.end(); ++step) way += step->name.string() + " -> ";
      diagnostics_.error(mentioned, "a recipe extends itself: " + way + path.string());
      return false;
    }
    if (chain_.size() >= deepest_inheritance) {
      diagnostics_.error(mentioned, "recipes extend each other more than " +
                                        std::to_string(deepest_inheritance) + " files deep");
      return false;
    }
    if (++files_ <= most_files) return true;
    if (files_ == most_files + 1) {
      diagnostics_.error(mentioned,
                         "the recipe extends more than " + std::to_string(most_files) + " files in all");
    }
    return false;
  }

  std::optional<Value> load_bases(const Value& extends, const fs::path& folder) {
    const Array one{extends};
    const Array& names = extends.as<Array>() ? *extends.as<Array>() : one;
    Value merged(Value::Data(Table{}), extends.origin);
    bool whole = true;
    for (const Value& name : names) {
      const auto* text = name.as<std::string>();
      if (!text || text->empty()) {
        diagnostics_.error(name.origin,
                           "extends must name a file, or list several, not be " +
                               std::string(text ? "empty" : type_name(name)),
                           {"extends = \"base.toml\""});
        whole = false;
        continue;
      }
      std::optional<Value> base = load((folder / *text).lexically_normal(), name.origin);
      whole = whole && base;
      if (base) merge_over(merged, std::move(*base));
    }
    return whole ? std::optional(std::move(merged)) : std::nullopt;
  }

  int& next_layer_;
  Diagnostics& diagnostics_;
  std::vector<Opened> chain_;  // the files being read, each a base of the one before
  int files_ = 0;
  std::size_t bytes_ = 0;  // of all files; a file counts each time it is extended
};

}  // namespace

std::optional<Value> load_inherited(const fs::path& file, int& next_layer, Diagnostics& diagnostics) {
  return Inheritance(next_layer, diagnostics).load(file, {});
}

}  // namespace runner
