#include "registry/files/written_file.hpp"

#define XXH_INLINE_ALL  // compiled in: no library to find at run time
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <future>
#include <utility>
#include <vector>

#include "registry/base/arithmetic.hpp"
#include "registry/base/machine.hpp"
#include "registry/files/hex.hpp"
#include "registry/files/mapped_file.hpp"
#include "registry/files/open_file.hpp"
#include "registry/files/sha256.hpp"

namespace runner {

using Digest = std::array<unsigned char, 16>;

#ifdef __x86_64__
Digest xxh3_with_avx2(const std::byte* bytes, std::size_t size);  // in xxh3_avx2.cpp
#endif

namespace {

constexpr std::size_t piece_size = std::size_t{4} << 20;
// Small enough to still be in the processor's cache when it is hashed a second time.
constexpr std::size_t in_cache = std::size_t{1} << 18;
constexpr std::size_t most_readers = 16;  // more do not read faster than memory allows, and each has a buffer

Digest canonical(XXH128_hash_t hash) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, hash);
  return std::to_array(canonical.digest);
}

class Xxh3 {
 public:
  Xxh3() {
    XXH3_INITSTATE(&state_);
    XXH3_128bits_reset(&state_);
  }
  void update(std::span<const std::byte> bytes) { XXH3_128bits_update(&state_, bytes.data(), bytes.size()); }
  Digest digest() const { return canonical(XXH3_128bits_digest(&state_)); }

 private:
  XXH3_state_t state_;
};

Digest xxh3(std::span<const std::byte> bytes) {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx2")) return xxh3_with_avx2(bytes.data(), bytes.size());
#endif
  return canonical(XXH3_128bits(bytes.data(), bytes.size()));
}

std::string hex_of_pieces(const std::vector<Digest>& pieces) {
  return hex(xxh3(std::as_bytes(std::span(pieces))));
}

}  // namespace

struct WrittenFileDigest::State {
  std::uint64_t size = 0;
  Sha256 sha256;
  std::vector<Digest> pieces;  // the complete ones
  Xxh3 piece;
  std::size_t piece_bytes = 0;

  void end_piece() {
    pieces.push_back(std::exchange(piece, {}).digest());
    piece_bytes = 0;
  }
};

WrittenFileDigest::WrittenFileDigest() : state_(std::make_unique<State>()) {}

WrittenFileDigest::~WrittenFileDigest() = default;

void WrittenFileDigest::update(std::span<const std::byte> bytes) {
  state_->size += bytes.size();
  while (!bytes.empty()) {
    const auto some = bytes.first(std::min({bytes.size(), in_cache, piece_size - state_->piece_bytes}));
    state_->sha256.update({reinterpret_cast<const std::uint8_t*>(some.data()), some.size()});
    state_->piece.update(some);
    state_->piece_bytes += some.size();
    if (state_->piece_bytes == piece_size) state_->end_piece();
    bytes = bytes.subspan(some.size());
  }
}

WrittenFile WrittenFileDigest::result() {
  if (state_->piece_bytes > 0) state_->end_piece();
  return {state_->size, state_->sha256.hex(), hex_of_pieces(state_->pieces)};
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

// Into a buffer that stays in the processor's cache, which is faster than mapping the file.
std::string xxh3_of_pieces(const std::filesystem::path& path) {
  const OpenFile file(path);
  std::vector<Digest> pieces(divide_up(file.size(), piece_size));
  std::atomic<std::size_t> next = 0;
  const auto read_some = [&] {
    std::vector<std::uint8_t> buffer(std::min(file.size(), piece_size));
    for (std::size_t i = next++; i < pieces.size(); i = next++) {
      const auto piece = std::span(buffer).first(std::min(file.size() - i * piece_size, piece_size));
      file.read_at(i * piece_size, piece);
      pieces[i] = xxh3(std::as_bytes(piece));
    }
  };
  const auto readers = std::min({static_cast<std::size_t>(usable_cores()), pieces.size(), most_readers});
  std::vector<std::future<void>> others;
  for (std::size_t i = 1; i < readers; ++i) others.push_back(std::async(std::launch::async, read_some));
  read_some();
  for (std::future<void>& other : others) other.get();
  return hex_of_pieces(pieces);
}

std::uint64_t xxh3_of(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }

}  // namespace runner
