#include "components/trackers/zip_writer.hpp"

#include <array>
#include <fstream>
#include <functional>
#include <limits>
#include <stdexcept>
#include <utility>

#include <zlib.h>

#include "components/trackers/little_endian.hpp"

namespace runner {
namespace {

constexpr std::uint16_t version = 20, utf8_names = 0x0800, deflated = 8;
constexpr std::uint16_t first_day_of_1980 = 0x0021;
constexpr std::uint32_t local_signature = 0x04034b50, central_signature = 0x02014b50,
                        end_signature = 0x06054b50;

// Appends numbers in the width of their type.
struct Fields {
  Fields& operator<<(std::uint16_t value) { return *this << little_endian(value, 2); }
  Fields& operator<<(std::uint32_t value) { return *this << little_endian(value, 4); }
  Fields& operator<<(const std::string& text) {
    bytes += text;
    return *this;
  }
  std::string bytes;
};

struct Compressed {
  std::string bytes;
  std::uint32_t crc = 0;
  std::uint64_t size = 0;
};

// `next` returns the input piece by piece, and an empty piece at the end.
Compressed compress(const std::function<std::string_view()>& next) {
  z_stream stream{};
  constexpr int no_header = -15, memory = 8;
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, no_header, memory, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::runtime_error("zlib could not be initialised.");
  Compressed result;
  std::array<Bytef, 1 << 16> buffer;
  for (bool ended = false; !ended;) {
    const std::string_view piece = next();
    ended = piece.empty();
    result.size += piece.size();
    if (!ended)  // zlib resets the checksum if it gets a null pointer
      result.crc = static_cast<std::uint32_t>(
          crc32_z(result.crc, reinterpret_cast<const Bytef*>(piece.data()), piece.size()));
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(piece.data()));
    stream.avail_in = static_cast<uInt>(piece.size());
    do {
      stream.next_out = buffer.data();
      stream.avail_out = buffer.size();
      deflate(&stream, ended ? Z_FINISH : Z_NO_FLUSH);
      result.bytes.append(reinterpret_cast<const char*>(buffer.data()), buffer.size() - stream.avail_out);
    } while (stream.avail_out == 0);
  }
  deflateEnd(&stream);
  return result;
}

}  // namespace

ZipWriter::ZipWriter(std::filesystem::path path) : path_(path), out_(std::move(path)) {}

void ZipWriter::add(const std::string& name, std::string_view bytes) {
  const Compressed made = compress([&] { return std::exchange(bytes, {}); });
  add_compressed(name, made.crc, made.size, made.bytes);
}

void ZipWriter::add_file(const std::string& name, const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw std::runtime_error("Cannot read " + file.string() + ".");
  std::string piece;
  const Compressed made = compress([&]() -> std::string_view {
    piece.resize(1 << 16);
    in.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    piece.resize(static_cast<std::size_t>(in.gcount()));
    return piece;
  });
  if (in.bad()) throw std::runtime_error("Cannot read " + file.string() + ".");
  add_compressed(name, made.crc, made.size, made.bytes);
}

void ZipWriter::add_compressed(const std::string& name, std::uint32_t crc, std::uint64_t size,
                               const std::string& bytes) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
  if (size > most || position_ + bytes.size() > most)
    throw std::runtime_error(path_.string() + " would be larger than 4 GB.");
  const Entry entry{name, crc, static_cast<std::uint32_t>(bytes.size()), static_cast<std::uint32_t>(size),
                    static_cast<std::uint32_t>(position_)};
  Fields local;
  local << local_signature << version << utf8_names << deflated << std::uint16_t{0} << first_day_of_1980
        << entry.crc << entry.compressed << entry.size << static_cast<std::uint16_t>(name.size())
        << std::uint16_t{0} << name;
  write(local.bytes);
  write(bytes);
  entries_.push_back(entry);
}

void ZipWriter::finish() {
  const auto start = static_cast<std::uint32_t>(position_);
  Fields central;
  for (const Entry& each : entries_) {
    central << central_signature << version << version << utf8_names << deflated << std::uint16_t{0}
            << first_day_of_1980 << each.crc << each.compressed << each.size
            << static_cast<std::uint16_t>(each.name.size()) << std::uint16_t{0} << std::uint16_t{0}
            << std::uint16_t{0} << std::uint16_t{0} << std::uint32_t{0} << each.offset << each.name;
  }
  const auto count = static_cast<std::uint16_t>(entries_.size());
  const auto size = static_cast<std::uint32_t>(central.bytes.size());
  central << end_signature << std::uint16_t{0} << std::uint16_t{0} << count << count << size << start
          << std::uint16_t{0};
  write(central.bytes);
  out_.commit();
}

void ZipWriter::write(std::string_view bytes) {
  out_.write(bytes);
  position_ += bytes.size();
}

}  // namespace runner
