#include "components/datasets/read/idx_file.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "registry/files/gzip.hpp"
#include "registry/files/io_error.hpp"

namespace runner {

namespace {

constexpr std::uint8_t type_bytes = 0x08;
constexpr std::size_t most_at_once = 16u << 20;

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& problem) {
  throw IoError(path.string() + " " + problem);
}

template <std::size_t count>
std::array<std::uint8_t, count> take(GzipReader& reader) {
  std::array<std::uint8_t, count> bytes{};
  if (reader.read(bytes) != count) fail(reader.path(), "is truncated: it ends within the header.");
  return bytes;
}

std::vector<std::int64_t> read_header(GzipReader& reader) {
  const auto magic = take<4>(reader);
  if (magic[0] != 0 || magic[1] != 0)
    fail(reader.path(), "is not an IDX file: it does not start with two zero bytes.");
  if (magic[2] != type_bytes)
    fail(reader.path(), "is an IDX file, but not one of bytes, as images and labels are.");
  std::vector<std::int64_t> shape;
  for (int dimension = 0; dimension < magic[3]; ++dimension) {
    const auto size = take<4>(reader);
    shape.push_back((std::int64_t{size[0]} << 24) | (size[1] << 16) | (size[2] << 8) | size[3]);
  }
  if (shape.empty()) fail(reader.path(), "is an IDX file without dimensions.");
  if (std::ranges::find(shape, 0) != shape.end()) fail(reader.path(), "is an IDX file without any data.");
  return shape;
}

std::size_t count_of(const std::vector<std::int64_t>& shape, const std::filesystem::path& path) {
  std::size_t count = 1;
  for (const std::int64_t size : shape) {
    if (count > std::numeric_limits<std::int64_t>::max() / static_cast<std::size_t>(size)) {
      fail(path, "is damaged: its header claims an impossible size.");
    }
    count *= static_cast<std::size_t>(size);
  }
  return count;
}

bool is_gzip(std::span<const std::uint8_t> bytes) {
  return bytes.size() > 2 && bytes[0] == 0x1F && bytes[1] == 0x8B;
}

}  // namespace

std::vector<std::int64_t> IdxFile::read_shape(const std::filesystem::path& path) {
  GzipReader reader(path);
  return read_header(reader);
}

IdxFile::IdxFile(const std::filesystem::path& path) : path_(path), mapped_(path) {
  GzipReader reader(path);
  shape_ = read_header(reader);
  const std::size_t count = count_of(shape_, path), header = 4 + 4 * shape_.size();
  const auto check_size = [&](bool too_short, bool too_long) {
    if (too_short)
      fail(path, "is truncated: its header says that it has " + std::to_string(count) + " bytes of data.");
    if (too_long) fail(path, "is damaged: it has more data than its header says.");
  };
  if (!is_gzip(mapped_.bytes())) {
    const std::size_t present = mapped_.bytes().size() - header;
    const bool too_short = present < count;
    const bool too_long = count < present;
    check_size(too_short, too_long);
    values_ = mapped_.bytes().subspan(header);
    return;
  }
  if (count > reader.most()) {
    fail(path,
         "claims to hold " + std::to_string(count) + " bytes of data, more than a hundred times its size.");
  }
  // In steps, so that a wrong header cannot make us allocate much more than the file contains.
  while (unpacked_.size() < count) {
    const std::size_t before = unpacked_.size(), step = std::min(count - before, most_at_once);
    unpacked_.resize(before + step);
    check_size(reader.read(std::span(unpacked_).subspan(before)) < step, false);
  }
  std::array<std::uint8_t, 1> beyond{};
  check_size(false, reader.read(beyond) > 0);  // reading to the end also makes zlib compare the checksum
  mapped_ = {};
  values_ = unpacked_;
}

}  // namespace runner
