#include "components/contract/targets.hpp"

#include <algorithm>

#include "registry/base/wording.hpp"

namespace runner {

std::string to_string(Targets targets) {
  switch (targets) {
    case Targets::class_index: return "class indices";
    case Targets::class_shares: return "class probabilities";
    case Targets::binary: return "0/1 for each output (multi-label)";
    case Targets::numbers: return "numbers";
    case Targets::tokens: break;
  }
  return "tokens";
}

std::string to_string(const std::vector<Targets>& targets) {
  std::vector<std::string> texts;
  for (const Targets one : targets) texts.push_back(to_string(one));
  return texts.empty() ? "anything" : joined(texts, " or ");
}

std::vector<Targets> possible_targets(const DataSpec& data) {
  const bool floating = c10::isFloatingType(data.target_type);
  if (data.vocabulary > 0 && !data.target_shape.empty() && !floating)
    return {Targets::tokens, Targets::class_index};
  const bool for_each_class =
      data.classes > 0 && data.target_shape == std::vector<std::int64_t>{data.classes};
  if (floating && for_each_class) return {Targets::class_shares, Targets::binary};
  if (floating && data.target_shape.empty()) return {Targets::numbers, Targets::binary};
  if (floating) return {Targets::numbers, Targets::binary, Targets::class_shares};
  // Whole numbers may be classes or counts; if the classes have names, they are classes.
  if (!data.class_names.empty()) return {Targets::class_index, Targets::binary};
  std::vector<Targets> all{Targets::class_index, Targets::binary, Targets::numbers};
  if (!data.target_shape.empty()) all.push_back(Targets::tokens);
  return all;
}

std::optional<std::vector<Targets>> shared_targets(const std::vector<Targets>& one,
                                                   const std::vector<Targets>& other) {
  if (one.empty()) return other;
  if (other.empty()) return one;
  std::vector<Targets> both;
  std::ranges::copy_if(one, std::back_inserter(both),
                       [&](Targets targets) { return std::ranges::find(other, targets) != other.end(); });
  if (both.empty()) return std::nullopt;
  return both;
}

}  // namespace runner
