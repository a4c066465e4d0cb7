#pragma once

#include "components/support/text/json_step.hpp"
#include "components/support/text/regex.hpp"

namespace runner {

// The "pattern" of a step of a tokenizer.json: {"String": ".."} or {"Regex": ".."}.
inline std::shared_ptr<const Regex> pattern_of(JsonStep& step) {
  JsonStep pattern(step.at("pattern"), step.place() + "'s pattern");
  const bool literal = pattern.has("String");
  const auto text = pattern.get<std::string>(literal ? "String" : "Regex");
  pattern.finish();
  if (text.empty()) pattern.fail("is empty");
  return std::make_shared<const Regex>(literal ? Regex::literal(text) : Regex(text));
}

}  // namespace runner
