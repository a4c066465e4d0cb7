#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include <protozero/pbf_writer.hpp>

#include "registry/base/utf8.hpp"

namespace runner {

// Fields that the protobuf records of several trackers have in common.

inline void add_text(protozero::pbf_writer& message, protozero::pbf_tag_type field, std::string_view text) {
  message.add_string(field, valid_utf8(text));
}

// google.protobuf.Timestamp
inline void add_timestamp(protozero::pbf_writer& message, protozero::pbf_tag_type field, double seconds) {
  protozero::pbf_writer timestamp(message, field);
  const double whole = std::floor(seconds);
  timestamp.add_int64(1, static_cast<std::int64_t>(whole));
  timestamp.add_int32(2, static_cast<std::int32_t>((seconds - whole) * 1e9));
}

}  // namespace runner
