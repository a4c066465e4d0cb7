#pragma once

#include <cstdint>
#include <string>

#include "registry/field.hpp"

namespace runner {

// What a text dataset does if its files are missing.
enum class TextFallback { none, generated };
constexpr auto describe(std::type_identity<TextFallback>) {
  return choices(
      choice("none", TextFallback::none, "that is an error"),
      choice("generated", TextFallback::generated, "use generated sentences of a small grammar instead"));
}

// The warning that a run uses generated text.
inline std::string generated_stand_in(const std::string& missing) {
  return "Generated sentences stand in for " + missing +
         ", which does not exist: the results say nothing about real text.";
}

// About 200,000 characters of sentences from a small grammar, always the same.
std::string generated_text();

// The sentence with this number of the class `label`. Some of its words are typical of the class.
std::string generated_sentence(std::int64_t number, std::int64_t label, std::int64_t classes);

}  // namespace runner
