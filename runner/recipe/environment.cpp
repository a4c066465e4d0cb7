#include "runner/recipe/environment.hpp"

#include <algorithm>
#include <string_view>

#include "runner/recipe/nesting.hpp"
#include "runner/recipe/setting.hpp"
#include "runner/recipe/setting_value.hpp"

namespace runner {

namespace {

constexpr std::string_view prefix = "RUNNER_";
constexpr std::string_view separator = "__";

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

KeyPath path_of(std::string_view name) {
  KeyPath path;
  for (std::size_t start = prefix.size(); start <= name.size();) {
    const std::size_t end = std::min(name.find(separator, start), name.size());
    std::string part(name.substr(start, end - start));
    std::ranges::transform(part, part.begin(), lower);
    path.parts.push_back({std::move(part), start, end - start});
    start = end + separator.size();
  }
  return path;
}

}  // namespace

void apply_environment(const std::map<std::string, std::string>& environment, int layer, Value& tree,
                       const DefaultOf& default_of, Diagnostics& diagnostics) {
  for (const auto& [name, text] : environment) {
    if (!name.starts_with(prefix) || name.find(separator, prefix.size()) == std::string::npos) continue;
    Setting setting{.path = path_of(name), .layer = layer};
    setting.source = std::make_shared<Source>(Source{Source::Kind::environment, name, name + "=" + text});
    const bool spells_key = std::ranges::all_of(
        setting.path.parts, [](const KeyPath::Part& part) { return key_to_toml(part.text) == part.text; });
    if (!spells_key || setting.path.parts.size() > deepest_nesting) {
      diagnostics.error({setting.source, 1, 1, static_cast<std::uint32_t>(name.size()), layer},
                        "the variable's name does not spell a key",
                        {"RUNNER_OPTIMIZER__LR sets optimizer.lr; two underscores stand for the dot"});
      continue;
    }
    auto value = parse_setting_value(setting.source, name.size() + 1, layer, diagnostics);
    if (!value) continue;
    setting.value = std::move(*value);
    apply_setting(std::move(setting), tree, default_of, diagnostics);
  }
}

}  // namespace runner
