// The protocol between the store of a run and its clients. Both know the run's secret; nobody else can take
// part or change a message. Messages are not encrypted: nothing in the store is confidential.
//
//   store -> client   greeting, nonce A
//   client -> store   nonce B, proof(secret, "client", A, B)
//   store -> client   proof(secret, "store", A, B), or zeros if the client's proof is wrong
//   both ways         frames: length, payload, proof(session key, direction, number of the frame, payload)
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace runner::store {

constexpr std::string_view greeting = "runner store 1\n\n";
constexpr std::size_t nonce_bytes = 32, proof_bytes = 32;
constexpr std::size_t hello_bytes = greeting.size() + nonce_bytes;
constexpr std::size_t answer_bytes = nonce_bytes + proof_bytes;

enum class Side : std::uint8_t { store, client };

enum class Request : std::uint8_t {
  set,
  get,
  add,
  compare_set,
  append,
  remove,
  check,
  count,
  wait,
  set_on_disconnect
};

std::string random_bytes(std::size_t count);
std::string prove(std::string_view secret, std::initializer_list<std::string_view> parts);
std::string prove_side(std::string_view secret, Side side, std::string_view store_nonce,
                       std::string_view client_nonce);
bool same_proof(std::string_view one, std::string_view other);  // in constant time

// Something that no honest peer sends.
struct ProtocolError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Splits a stream of bytes into frames, and checks that they come from the peer, in order and unchanged.
class Session {
 public:
  Session(std::string_view secret, Side side, std::string_view store_nonce, std::string_view client_nonce,
          std::size_t most_bytes);

  std::string seal(std::string_view payload);
  // Removes the next payload from the front of `received` if it is complete. Throws ProtocolError.
  std::optional<std::string> open(std::string& received);

 private:
  std::string proof(Side from, std::uint64_t number, std::string_view payload) const;

  std::string key_;
  Side side_;
  std::size_t most_bytes_;
  std::uint64_t sent_ = 0, received_ = 0;
};

// The fields of a payload, one after the other.
class Writer {
 public:
  Writer& number(std::int64_t value);
  Writer& text(std::string_view value);
  Writer& texts(const std::vector<std::string>& values);
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// Throws ProtocolError if a field is missing or truncated.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  std::int64_t number();
  std::string text();
  std::vector<std::string> texts();

 private:
  std::string_view take(std::size_t count);

  std::string_view bytes_;
};

}  // namespace runner::store
