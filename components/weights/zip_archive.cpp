#include "components/weights/zip_archive.hpp"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "registry/base/wording.hpp"

namespace runner {

namespace {

[[noreturn]] void fail(const std::string& why) { throw std::runtime_error(why); }

// Reads little-endian numbers; every access is bounds-checked.
class Reader {
 public:
  explicit Reader(std::span<std::byte> bytes) : bytes_(bytes) {}

  template <class T>
  T at(std::uint64_t position) const {
    T number{};
    std::memcpy(&number, range(position, sizeof number).data(), sizeof number);
    return number;
  }
  std::span<std::byte> range(std::uint64_t position, std::uint64_t size) const {
    if (position > bytes_.size() || size > bytes_.size() - position) fail("it is not complete, or damaged");
    return bytes_.subspan(position, size);
  }
  std::uint64_t size() const { return bytes_.size(); }

 private:
  std::span<std::byte> bytes_;
};

constexpr std::uint32_t local_header = 0x04034b50, central_header = 0x02014b50, end_of_directory = 0x06054b50,
                        end_of_directory_64 = 0x06064b50, locator_64 = 0x07064b50;
constexpr std::uint64_t end_size = 22, locator_size = 20, longest_comment = 65535;

struct Directory {
  std::uint64_t position, size, entries;
};

Directory find_directory(const Reader& file) {
  if (file.size() < end_size) fail("it is not complete: the directory at its end is missing");
  const std::uint64_t last = file.size() - end_size;
  for (std::uint64_t back = 0; back <= std::min(last, longest_comment); ++back) {
    const std::uint64_t end = last - back;
    if (file.at<std::uint32_t>(end) != end_of_directory || file.at<std::uint16_t>(end + 20) != back) continue;
    Directory directory{file.at<std::uint32_t>(end + 16), file.at<std::uint32_t>(end + 12),
                        file.at<std::uint16_t>(end + 10)};
    if (end >= locator_size && file.at<std::uint32_t>(end - locator_size) == locator_64) {
      const auto wide = file.at<std::uint64_t>(end - locator_size + 8);
      if (file.at<std::uint32_t>(wide) != end_of_directory_64) fail("the directory at its end is damaged");
      directory = {file.at<std::uint64_t>(wide + 48), file.at<std::uint64_t>(wide + 40),
                   file.at<std::uint64_t>(wide + 32)};
    }
    return directory;
  }
  fail("it is not complete: the directory at its end is missing");
}

// zip64: sizes and positions that do not fit into 32 bits are all ones in the directory and are stored in an
// extra field, in this order.
void widen(const Reader& extra, std::uint64_t& size, std::uint64_t& stored_size, std::uint64_t& position) {
  constexpr std::uint64_t elsewhere = std::numeric_limits<std::uint32_t>::max();
  for (std::uint64_t at = 0; at + 4 <= extra.size(); at += 4 + extra.at<std::uint16_t>(at + 2)) {
    if (extra.at<std::uint16_t>(at) != 1) continue;
    std::uint64_t next = at + 4;
    for (std::uint64_t* number : {&size, &stored_size, &position}) {
      if (*number != elsewhere) continue;
      *number = extra.at<std::uint64_t>(next);
      next += 8;
    }
    return;
  }
}

}  // namespace

ZipArchive::ZipArchive(std::span<std::byte> bytes) {
  const Reader file(bytes);
  const Directory place = find_directory(file);
  const Reader directory(file.range(place.position, place.size));
  std::uint64_t at = 0;
  for (std::uint64_t i = 0; i < place.entries; ++i) {
    if (directory.at<std::uint32_t>(at) != central_header) fail("the directory at its end is damaged");
    const auto flags = directory.at<std::uint16_t>(at + 8), method = directory.at<std::uint16_t>(at + 10);
    const auto checksum = directory.at<std::uint32_t>(at + 16);
    std::uint64_t stored_size = directory.at<std::uint32_t>(at + 20),
                  size = directory.at<std::uint32_t>(at + 24);
    std::uint64_t position = directory.at<std::uint32_t>(at + 42);
    const auto name_size = directory.at<std::uint16_t>(at + 28),
               extra_size = directory.at<std::uint16_t>(at + 30);
    const auto comment_size = directory.at<std::uint16_t>(at + 32);
    const auto name_bytes = directory.range(at + 46, name_size);
    const std::string name(reinterpret_cast<const char*>(name_bytes.data()), name_bytes.size());
    widen(Reader(directory.range(at + 46 + name_size, extra_size)), size, stored_size, position);
    const bool stored = method == 0 && (flags & 1u) == 0 && size == stored_size;
    at += 46u + name_size + extra_size + comment_size;

    if (file.at<std::uint32_t>(position) != local_header)
      fail("its entry " + in_quotes(name) + " is damaged");
    const std::uint64_t begin =
        position + 30 + file.at<std::uint16_t>(position + 26) + file.at<std::uint16_t>(position + 28);
    if (!entries_.emplace(name, Entry{file.range(begin, stored_size), checksum, stored}).second) {
      fail("its entry " + in_quotes(name) + " appears twice");
    }
  }
}

std::span<std::byte> ZipArchive::read(const std::string& name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) fail("its entry " + in_quotes(name) + " is missing");
  const Entry& entry = found->second;
  if (!entry.stored)
    fail("its entry " + in_quotes(name) + " is compressed or encrypted, which torch.save never does");
  if (entry.checksum != 0) {
    const auto* data = reinterpret_cast<const Bytef*>(entry.bytes.data());
    if (::crc32_z(0, data, entry.bytes.size()) != entry.checksum)
      fail("its entry " + in_quotes(name) + " is damaged: the checksum differs");
  }
  return entry.bytes;
}

}  // namespace runner
