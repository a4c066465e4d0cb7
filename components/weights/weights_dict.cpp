#include "components/weights/weights_dict.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <unordered_set>

#include "registry/base/wording.hpp"
#include "registry/value.hpp"

namespace runner::pickle {

namespace {

constexpr std::array<std::string_view, 8> usual_keys{"state_dict", "model_state_dict", "model",   "module",
                                                     "net",        "network",          "weights", "params"};
constexpr int deepest = 4;

bool has_tensors(const Dict& dict) {
  return std::ranges::any_of(dict.items, [](const auto& item) {
    return item.first->template as<std::string>() &&
           item.second->template as<std::shared_ptr<const TensorRecord>>();
  });
}

class Search {
 public:
  std::optional<WeightsDict> in(const Object& object, const std::string& path, int depth) {
    const auto* dict = object.as<Dict>();
    // Each dictionary is visited only once: with references, a small file can describe an endless structure.
    if (!dict || depth > deepest || !seen_.insert(dict).second) return std::nullopt;
    for (const std::string_view wanted : usual_keys) {
      const auto item = std::ranges::find_if(dict->items, [&](const auto& each) {
        const auto* key = each.first->template as<std::string>();
        return key && *key == wanted;
      });
      if (item == dict->items.end()) continue;
      if (auto found = in(*item->second, key_below(path, wanted), depth + 1)) return found;
    }
    if (has_tensors(*dict)) return WeightsDict{path, dict};

    std::optional<WeightsDict> only;
    for (const auto& [key, value] : dict->items) {
      const auto* name = key->as<std::string>();
      auto found = name ? in(*value, key_below(path, *name), depth + 1) : std::nullopt;
      if (found && only) {
        throw PickleError("it holds several sets of weights (" + in_quotes(only->path) + " and " +
                          in_quotes(found->path) + "): save only the one that you need");
      }
      if (found) only = std::move(found);
    }
    return only;
  }

 private:
  std::unordered_set<const Dict*> seen_;
};

}  // namespace

WeightsDict find_weights(const Object& root) {
  if (auto found = Search().in(root, "", 0)) return *found;
  throw PickleError("it contains no weights, which would be a dictionary of names and tensors");
}

}  // namespace runner::pickle
