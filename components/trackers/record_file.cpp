#include "components/trackers/record_file.hpp"

#include <array>
#include <bit>
#include <exception>
#include <istream>
#include <utility>

#include "components/trackers/little_endian.hpp"
#include "registry/base/log.hpp"

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

std::optional<std::string> read_bytes(std::istream& in, std::size_t count) {
  std::string bytes(count, '\0');
  in.read(bytes.data(), static_cast<std::streamsize>(count));
  if (static_cast<std::size_t>(in.gcount()) != count) return std::nullopt;
  return bytes;
}

constexpr std::size_t length_bytes = sizeof(std::uint64_t), crc_bytes = sizeof(std::uint32_t);

// Bytes followed by their checksum.
std::optional<std::string> read_checked(std::istream& in, std::size_t count) {
  auto bytes = read_bytes(in, count);
  const auto crc = read_bytes(in, crc_bytes);
  if (!bytes || !crc || from_little_endian(*crc) != masked_crc(*bytes)) return std::nullopt;
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
  const std::string length = little_endian(record.size(), length_bytes);
  waiting_ += length;
  waiting_ += little_endian(masked_crc(length), crc_bytes);
  waiting_ += record;
  waiting_ += little_endian(masked_crc(record), crc_bytes);
  if (waiting_.size() > most_waiting) flush();
}

void RecordFile::flush() {
  if (!waiting_.empty()) file_.append(std::exchange(waiting_, {}));
}

std::optional<std::string> read_record(std::istream& in) {
  const auto length = read_checked(in, length_bytes);
  if (!length) return std::nullopt;
  return read_checked(in, from_little_endian(*length));
}

std::optional<std::size_t> find_record(std::string_view bytes) {
  for (std::size_t start = 0; start + length_bytes + crc_bytes <= bytes.size(); ++start) {
    const auto crc = from_little_endian(bytes.substr(start + length_bytes, crc_bytes));
    if (crc == masked_crc(bytes.substr(start, length_bytes))) return start;
  }
  return std::nullopt;
}

std::uint64_t record_size(std::string_view record) { return length_bytes + record.size() + 2 * crc_bytes; }

}  // namespace runner
