// Durations and sizes: what is understood, written and read again is the same.
#include "registry/base/duration.hpp"

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "registry/base/byte_size.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto duration = runner::parse_duration(text);
  if (const auto* held = std::get_if<runner::Duration>(&duration)) {
    const auto again = runner::parse_duration(runner::to_string(*held));
    if (!std::holds_alternative<runner::Duration>(again) || !(std::get<runner::Duration>(again) == *held))
      std::abort();
  }
  const auto bytes = runner::parse_byte_size(text);
  if (const auto* held = std::get_if<runner::ByteSize>(&bytes)) {
    const auto again = runner::parse_byte_size(runner::to_string(*held));
    if (!std::holds_alternative<runner::ByteSize>(again) || !(std::get<runner::ByteSize>(again) == *held))
      std::abort();
    if (runner::approximately(*held).empty()) std::abort();
  }
  return 0;
}
