#pragma once

#include "registry/field.hpp"

namespace runner {

// What a text dataset does where its files are not there.
enum class TextFallback { none, generated };
constexpr auto describe(std::type_identity<TextFallback>) {
  return choices(
      choice("none", TextFallback::none, "that is an error"),
      choice("generated", TextFallback::generated, "use generated sentences of a small grammar instead"));
}

inline std::string generated_stand_in(const std::string& missing) {
  return "Generated sentences stand in, and the results are about them alone. There is no " + missing + ".";
}

}  // namespace runner
