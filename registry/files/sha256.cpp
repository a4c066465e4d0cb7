#include "registry/files/sha256.hpp"

#include <openssl/evp.h>

#include <array>

#include "registry/files/hex.hpp"
#include "registry/files/mapped_file.hpp"
#include "registry/files/open_file.hpp"

namespace runner {

struct Sha256::Context {
  EVP_MD_CTX* digest = EVP_MD_CTX_new();
  ~Context() { EVP_MD_CTX_free(digest); }
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {
  if (!context_->digest || EVP_DigestInit_ex(context_->digest, EVP_sha256(), nullptr) != 1) {
    throw IoError("SHA-256 is not available from OpenSSL on this machine.");
  }
}

Sha256::~Sha256() = default;

void Sha256::update(std::span<const std::uint8_t> bytes) {
  EVP_DigestUpdate(context_->digest, bytes.data(), bytes.size());
}

std::string Sha256::hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  EVP_DigestFinal_ex(context_->digest, digest.data(), &size);
  return runner::hex(std::span(digest).first(size));
}

std::string sha256_hex(std::string_view bytes) {
  Sha256 digest;
  digest.update({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
  return digest.hex();
}

std::string sha256_of_file(const std::filesystem::path& path) {
  Sha256 digest;
  if (OpenFile(path).size() > 0) digest.update(MappedFile(path).bytes());
  return digest.hex();
}

}  // namespace runner
