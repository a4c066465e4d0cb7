#include "components/trackers/support/record_file.hpp"

#include <array>
#include <bit>
#include <exception>
#include <utility>

#include "registry/log.hpp"

namespace runner {
namespace {

constexpr std::array<std::uint32_t, 256> crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78u : 0u);
    table[byte] = crc;
  }
  return table;
}

std::uint32_t masked_crc(std::string_view bytes) { return std::rotr(crc32c(bytes), 15) + 0xa282ead8u; }

template <class Integer>
std::string little_endian(Integer value) {
  std::string bytes;
  for (std::size_t i = 0; i < sizeof value; ++i) bytes += static_cast<char>((value >> (8 * i)) & 0xff);
  return bytes;
}

constexpr std::size_t most_waiting = 1 << 20;

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  static constexpr auto table = crc_table();
  std::uint32_t crc = ~0u;
  for (const char byte : bytes) crc = (crc >> 8) ^ table[(crc ^ static_cast<unsigned char>(byte)) & 0xff];
  return ~crc;
}

RecordFile::~RecordFile() {
  try {
    flush();
  } catch (const std::exception& error) {
    log::warning("{}", error.what());
  }
}

void RecordFile::add(std::string_view record) {
  const std::string length = little_endian<std::uint64_t>(record.size());
  waiting_ += length;
  waiting_ += little_endian(masked_crc(length));
  waiting_ += record;
  waiting_ += little_endian(masked_crc(record));
  if (waiting_.size() > most_waiting) flush();
}

void RecordFile::flush() {
  if (!waiting_.empty()) file_.append(std::exchange(waiting_, {}));
}

}  // namespace runner
