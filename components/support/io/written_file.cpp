#include "components/support/io/written_file.hpp"

#define XXH_INLINE_ALL  // compiled in: no library to find at run time
#include <xxhash.h>

#include <algorithm>
#include <array>

#include "components/support/io/mapped_file.hpp"
#include "components/support/io/open_file.hpp"
#include "components/support/io/sha256.hpp"

namespace runner {

namespace {

std::string hex_of(XXH128_hash_t hash) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, hash);
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : canonical.digest) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

}  // namespace

struct WrittenFileDigest::State {
  std::uint64_t size = 0;
  Sha256 sha256;
  XXH3_state_t xxh3;
};

WrittenFileDigest::WrittenFileDigest() : state_(std::make_unique<State>()) {
  XXH3_INITSTATE(&state_->xxh3);
  XXH3_128bits_reset(&state_->xxh3);
}

WrittenFileDigest::~WrittenFileDigest() = default;

void WrittenFileDigest::update(std::span<const std::byte> bytes) {
  constexpr std::size_t in_cache = std::size_t{1} << 18;  // the second checksum finds the bytes there
  state_->size += bytes.size();
  while (!bytes.empty()) {
    const auto piece = bytes.first(std::min(bytes.size(), in_cache));
    state_->sha256.update({reinterpret_cast<const std::uint8_t*>(piece.data()), piece.size()});
    XXH3_128bits_update(&state_->xxh3, piece.data(), piece.size());
    bytes = bytes.subspan(piece.size());
  }
}

WrittenFile WrittenFileDigest::result() {
  return {state_->size, state_->sha256.hex(), hex_of(XXH3_128bits_digest(&state_->xxh3))};
}

WrittenFile written_file(std::string_view text) {
  WrittenFileDigest digest;
  digest.update(std::as_bytes(std::span(text)));
  return digest.result();
}

WrittenFile read_written_file(const std::filesystem::path& path) {
  WrittenFileDigest digest;
  if (OpenFile(path).size() > 0) digest.update(std::as_bytes(MappedFile(path).bytes()));
  return digest.result();
}

std::uint64_t xxh3_of(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }

std::string xxh3_of_file(const std::filesystem::path& path) {
  if (OpenFile(path).size() == 0) return hex_of(XXH3_128bits("", 0));
  const MappedFile file(path);
  return hex_of(XXH3_128bits(file.bytes().data(), file.bytes().size()));
}

}  // namespace runner
