#pragma once

#include <optional>
#include <stdexcept>
#include <string>

#include "components/transforms/transform.hpp"

namespace runner {

// Transforms that set a size take either `size`, or both `height` and `width`.
struct Extent {
  std::int64_t height = 0, width = 0;
};

// Reports an error if both are given, or only one of height and width.
template <class Settings>
void check_extent(const Settings& settings, Report& report) {
  if (settings.height.has_value() != settings.width.has_value()) {
    report.error(settings.height ? "height" : "width",
                 "needs the other one, too: height and width are given together");
  } else if (settings.size && settings.height) {
    report.error("size", "cannot be combined with the others: give either size, or height and width");
  }
}
template <class Settings>
void check_extent_given(const Settings& settings, Report& report) {
  check_extent(settings, report);
  if (!settings.size && !settings.height && !settings.width)
    report.error("size", "is missing: give size, or height and width");
}

// The given height and width; `size` means a square.
template <class Settings>
std::optional<Extent> given_extent(const Settings& settings) {
  if (settings.size) return Extent{*settings.size, *settings.size};
  if (settings.height && settings.width) return Extent{*settings.height, *settings.width};
  return std::nullopt;
}

inline DataSpec with_extent(DataSpec data, const Extent& extent) {
  data.input_shape = {data.input_shape.at(0), extent.height, extent.width};
  return data;
}

// Transforms that compute with bytes cannot follow those after which pixels are no longer bytes.
inline void require_bytes(const DataSpec& data, const std::string& what) {
  if (data.pixels_final) throw std::runtime_error(what + " must come before normalize and random_erasing.");
}

}  // namespace runner
