#include "components/trackers/chunk_log.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>

#include <zlib.h>

#include "components/trackers/little_endian.hpp"
#include "components/trackers/tracker_files.hpp"

namespace runner {
namespace {

constexpr std::size_t block_bytes = 32768, chunk_header_bytes = 7;
enum Type : unsigned char { full = 1, first = 2, middle = 3, last = 4 };

std::uint32_t checksum(std::string_view type_and_data) {
  return static_cast<std::uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(type_and_data.data()), type_and_data.size()));
}

std::size_t left_in_block(std::size_t position) { return block_bytes - position % block_bytes; }

// Type (the first byte) and data of the chunk at this position; empty if it is incomplete or damaged.
std::string_view chunk_at(std::string_view bytes, std::size_t position) {
  if (position + chunk_header_bytes > bytes.size()) return {};
  const std::size_t length = from_little_endian(bytes.substr(position + 4, 2));
  if (position + chunk_header_bytes + length > bytes.size()) return {};
  const std::string_view type_and_data = bytes.substr(position + 6, 1 + length);
  return from_little_endian(bytes.substr(position, 4)) == checksum(type_and_data) ? type_and_data
                                                                                  : std::string_view{};
}

}  // namespace

ChunkLog::ChunkLog(const std::filesystem::path& path, std::string_view header) {
  const std::int64_t end =
      is_missing_or_empty(path) ? 0 : read_chunk_log(path, header, [&](std::string_view) { ++records_; });
  if (end > 0) std::filesystem::resize_file(path, static_cast<std::uintmax_t>(end));
  file_ = AppendFile(path);
  if (end == 0) file_.append(header);
  position_ = file_.size();
}

void ChunkLog::add(std::string_view record) {
  const std::size_t before = waiting_.size();
  auto at = static_cast<std::size_t>(position_);
  for (bool begins = true, ends = false; !ends; begins = false) {
    if (left_in_block(at) < chunk_header_bytes) {
      waiting_.append(left_in_block(at), '\0');
      at += left_in_block(at);
    }
    const std::size_t length = std::min(record.size(), left_in_block(at) - chunk_header_bytes);
    ends = length == record.size();
    const Type type = begins ? (ends ? full : first) : (ends ? last : middle);
    std::string type_and_data(1, static_cast<char>(type));
    type_and_data += record.substr(0, length);
    waiting_ += little_endian(checksum(type_and_data), 4) + little_endian(length, 2) + type_and_data;
    record.remove_prefix(length);
    at = static_cast<std::size_t>(position_) + waiting_.size() - before;
  }
  position_ = static_cast<std::int64_t>(at);
  ++records_;
}

void ChunkLog::flush() {
  if (!waiting_.empty()) file_.append(std::exchange(waiting_, {}));
}

std::int64_t read_chunk_log(const std::filesystem::path& path, std::string_view header,
                            const std::function<void(std::string_view record)>& visit) {
  std::ifstream in(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  if (!bytes.starts_with(header))
    throw std::runtime_error(path.string() + " already exists and was not written by this tracker.");
  std::size_t position = header.size(), whole = position;
  std::string record;
  while (position < bytes.size()) {
    if (left_in_block(position) < chunk_header_bytes) {
      position += left_in_block(position);
      continue;
    }
    const std::string_view chunk = chunk_at(bytes, position);
    if (chunk.empty()) break;
    position += chunk_header_bytes - 1 + chunk.size();
    const auto type = static_cast<Type>(chunk[0]);
    if (type == full || type == first) record.clear();
    record += chunk.substr(1);
    if (type != full && type != last) continue;
    visit(record);
    whole = position;
  }
  return static_cast<std::int64_t>(whole);
}

void keep_records(const std::filesystem::path& path, std::string_view header,
                  const std::function<bool(std::string_view record, std::int64_t index)>& wanted) {
  const std::filesystem::path draft = path.string() + ".new";
  std::filesystem::remove(draft);
  {
    ChunkLog kept(draft, header);
    std::int64_t index = 0;
    read_chunk_log(path, header, [&](std::string_view record) {
      if (wanted(record, index++)) kept.add(record);
    });
    kept.flush();
  }
  std::filesystem::rename(draft, path);
}

}  // namespace runner
