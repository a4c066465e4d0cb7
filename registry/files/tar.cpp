#include "registry/files/tar.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <set>
#include <span>

#include "registry/base/arithmetic.hpp"
#include "registry/base/wording.hpp"
#include "registry/files/gzip.hpp"
#include "registry/files/io_error.hpp"

namespace runner {

namespace {

constexpr std::size_t block_size = 512;
using Block = std::array<std::uint8_t, block_size>;

// Fields of the header block (POSIX ustar).
struct HeaderField {
  std::size_t start, length;
};
constexpr HeaderField name_field{0, 100}, size_field{124, 12}, checksum_field{148, 8};
constexpr std::size_t type_position = 156;

std::string_view text(const Block& header, HeaderField field) {
  const auto* start = reinterpret_cast<const char*>(header.data() + field.start);
  return {start, ::strnlen(start, field.length)};
}

[[noreturn]] void fail(const std::filesystem::path& archive) {
  throw IoError(archive.string() + " is not a tar archive, or is damaged.");
}

std::size_t octal(const Block& header, HeaderField field, const std::filesystem::path& archive) {
  std::size_t number = 0;
  for (const char digit : text(header, field)) {
    if (digit == ' ') continue;
    if (digit < '0' || digit > '7') fail(archive);
    if (number > std::numeric_limits<std::size_t>::max() / 16) fail(archive);
    number = number * 8 + static_cast<std::size_t>(digit - '0');
  }
  return number;
}

bool checksum_holds(const Block& header, const std::filesystem::path& archive) {
  std::size_t sum = 0;
  for (std::size_t i = 0; i < block_size; ++i) {
    const bool inside = i >= checksum_field.start && i < checksum_field.start + checksum_field.length;
    sum += inside ? std::size_t{' '} : header[i];
  }
  return sum == octal(header, checksum_field, archive);
}

std::string file_name(const Block& header) {
  const std::string_view path = text(header, name_field);
  return std::string(path.substr(path.find_last_of('/') + 1));
}

void write_member(GzipReader& reader, std::size_t size, const std::filesystem::path& target) {
  std::ofstream out(target, std::ios::binary);
  std::array<std::uint8_t, 1 << 16> buffer;
  for (std::size_t left = size; left > 0 && out;) {
    const std::size_t step = std::min(left, buffer.size());
    if (reader.read(std::span(buffer).first(step)) != step)
      throw IoError(reader.path().string() + " ends too early.");
    out.write(reinterpret_cast<const char*>(buffer.data()), static_cast<std::streamsize>(step));
    left -= step;
  }
  out.close();
  if (!out) throw IoError("Cannot write " + target.string() + ": is the disk full, or the folder read-only?");
}

}  // namespace

void extract_tar(const std::filesystem::path& archive, const std::map<std::string, std::size_t>& sizes,
                 const std::filesystem::path& into) {
  GzipReader reader(archive);
  std::set<std::string> missing;
  for (const auto& [name, size] : sizes) missing.insert(name);
  Block header;
  while (!missing.empty() && reader.read(header) == block_size) {
    if (std::ranges::all_of(header, [](std::uint8_t byte) { return byte == 0; })) continue;
    if (!checksum_holds(header, archive)) fail(archive);
    const std::size_t size = octal(header, size_field, archive);
    const std::size_t padded = divide_up(size, block_size) * block_size;
    const bool regular = header[type_position] == '0' || header[type_position] == 0;
    const std::string name = file_name(header);
    if (regular && missing.erase(name) > 0) {
      if (size != sizes.at(name)) {
        throw IoError(archive.string() + " is not the expected one: " + in_quotes(name) + " in it has " +
                      std::to_string(size) + " bytes instead of " + std::to_string(sizes.at(name)) + ".");
      }
      write_member(reader, size, into / name);
      reader.skip(padded - size);
    } else {
      reader.skip(padded);
    }
  }
  if (!missing.empty()) throw IoError(archive.string() + " does not hold " + *missing.begin() + ".");
}

}  // namespace runner
