#include "runner/ranks/store_protocol.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <cstring>

namespace runner::store {

namespace {

template <class Number>
std::string bytes_of(Number number) {
  std::string bytes(sizeof number, '\0');
  for (std::size_t i = 0; i < sizeof number; ++i)
    bytes[i] = static_cast<char>(static_cast<std::uint64_t>(number) >> (8 * i));
  return bytes;
}

template <class Number>
Number number_of(std::string_view bytes) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < sizeof(Number); ++i)
    number |= static_cast<std::uint64_t>(static_cast<std::uint8_t>(bytes[i])) << (8 * i);
  return static_cast<Number>(number);
}

constexpr std::string_view name_of(Side side) { return side == Side::store ? "store" : "client"; }

}  // namespace

std::string random_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  if (RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(count)) != 1)
    throw std::runtime_error("The system gave no random bytes for the run's secret.");
  return bytes;
}

std::string prove(std::string_view secret, std::initializer_list<std::string_view> parts) {
  std::string message;
  for (const std::string_view part : parts) message.append(bytes_of(std::uint64_t{part.size()})).append(part);
  std::string proof(proof_bytes, '\0');
  unsigned length = 0;
  HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
       reinterpret_cast<const unsigned char*>(message.data()), message.size(),
       reinterpret_cast<unsigned char*>(proof.data()), &length);
  return proof;
}

std::string prove_side(std::string_view secret, Side side, std::string_view store_nonce,
                       std::string_view client_nonce) {
  return prove(secret, {name_of(side), store_nonce, client_nonce});
}

bool same_proof(std::string_view one, std::string_view other) {
  return one.size() == other.size() && CRYPTO_memcmp(one.data(), other.data(), one.size()) == 0;
}

Session::Session(std::string_view secret, Side side, std::string_view store_nonce,
                 std::string_view client_nonce, std::size_t most_bytes)
    : key_(prove(secret, {"session", store_nonce, client_nonce})), side_(side), most_bytes_(most_bytes) {}

std::string Session::proof(Side from, std::uint64_t number, std::string_view payload) const {
  return prove(key_, {name_of(from), bytes_of(number), payload});
}

std::string Session::seal(std::string_view payload) {
  std::string frame = bytes_of(static_cast<std::uint32_t>(payload.size()));
  frame.append(payload).append(proof(side_, sent_++, payload));
  return frame;
}

std::optional<std::string> Session::open(std::string& received) {
  constexpr std::size_t head = sizeof(std::uint32_t);
  if (received.size() < head) return {};
  const std::size_t length = number_of<std::uint32_t>(received);
  if (length > most_bytes_) throw ProtocolError("a message is longer than the limit");
  if (received.size() < head + length + proof_bytes) return {};
  const std::string payload = received.substr(head, length);
  const Side peer = side_ == Side::store ? Side::client : Side::store;
  if (!same_proof(proof(peer, received_++, payload), received.substr(head + length, proof_bytes)))
    throw ProtocolError("a message was changed on its way");
  received.erase(0, head + length + proof_bytes);
  return payload;
}

Writer& Writer::number(std::int64_t value) {
  bytes_ += bytes_of(value);
  return *this;
}

Writer& Writer::text(std::string_view value) {
  number(static_cast<std::int64_t>(value.size()));
  bytes_ += value;
  return *this;
}

Writer& Writer::texts(const std::vector<std::string>& values) {
  number(static_cast<std::int64_t>(values.size()));
  for (const std::string& value : values) text(value);
  return *this;
}

std::string_view Reader::take(std::size_t count) {
  if (count > bytes_.size()) throw ProtocolError("truncated message");
  const std::string_view taken = bytes_.substr(0, count);
  bytes_.remove_prefix(count);
  return taken;
}

std::int64_t Reader::number() { return number_of<std::int64_t>(take(sizeof(std::int64_t))); }

std::string Reader::text() {
  return std::string(take(static_cast<std::size_t>(static_cast<std::uint64_t>(number()))));
}

std::vector<std::string> Reader::texts() {
  std::vector<std::string> values;
  for (std::int64_t left = number(); left > 0; --left) values.push_back(text());
  return values;
}

}  // namespace runner::store
