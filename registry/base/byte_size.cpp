#include "registry/base/byte_size.hpp"

#include <array>
#include <cmath>

#include "registry/base/number_text.hpp"
#include "registry/base/quantity.hpp"

namespace runner {

namespace {

constexpr std::array units{
    UnitName{"B", 1},         UnitName{"kB", 1e3},         UnitName{"MB", 1e6},
    UnitName{"GB", 1e9},      UnitName{"TB", 1e12},        UnitName{"KiB", 1024},
    UnitName{"MiB", 1048576}, UnitName{"GiB", 1073741824}, UnitName{"TiB", 1099511627776}};

}  // namespace

std::variant<ByteSize, std::string> parse_byte_size(std::string_view text) {
  const auto parsed = parse_quantity(text, units, "25MB");
  if (const auto* problem = std::get_if<std::string>(&parsed)) return *problem;
  const auto& [amount, unit] = std::get<0>(parsed);
  const double exact = amount * unit->factor;
  if (exact > 9e15) return "is larger than any memory";
  // 0.57kB is 570 bytes, although 0.57 * 1000 is not quite 570.
  const double bytes = std::round(exact);
  if (std::abs(bytes - exact) > exact * 1e-15) return "must be a whole number of bytes";
  return ByteSize{static_cast<std::uint64_t>(bytes)};
}

std::string to_string(const ByteSize& size) {
  for (const std::size_t index : {std::size_t{8}, std::size_t{4}, std::size_t{7}, std::size_t{3},
                                  std::size_t{6}, std::size_t{2}, std::size_t{5}, std::size_t{1}}) {
    const auto factor = static_cast<std::uint64_t>(units[index].factor);
    if (size.bytes > 0 && size.bytes % factor == 0) {
      return std::to_string(size.bytes / factor) + std::string(units[index].name);
    }
  }
  return std::to_string(size.bytes) + "B";
}

std::string approximately(const ByteSize& size) {
  const auto bytes = static_cast<double>(size.bytes);
  std::size_t index = 0;
  while (index < 4 && bytes >= units[index + 1].factor) ++index;
  const double amount = bytes / units[index].factor;
  const double rounded = amount < 100 ? std::round(amount * 10) / 10 : std::round(amount);
  return plain_number_text(rounded) + " " + std::string(units[index].name);
}

std::pair<std::string, std::string> distinguishable(const ByteSize& one, const ByteSize& other) {
  std::pair texts{approximately(one), approximately(other)};
  if (texts.first != texts.second) return texts;
  return {std::to_string(one.bytes) + " B", std::to_string(other.bytes) + " B"};
}

}  // namespace runner
