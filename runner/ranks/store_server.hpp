#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "runner/ranks/socket.hpp"

namespace runner {

// The place where the ranks of a run find each other: keys and values, served to those who know the run's
// secret. Strangers (clients that have not proved it) may connect in thousands, send anything or stay silent:
// each gets a few bytes and a few seconds, and the oldest is dropped to make room for the next.
class StoreServer {
 public:
  struct Limits {
    std::size_t strangers = 64;  // connections that have not yet proved that they know the secret
    std::chrono::milliseconds proof_within{5000};
    std::size_t connections = 8192;
    std::size_t message_bytes = std::size_t{16} << 20;
    std::size_t stored_bytes = std::size_t{1} << 30;
  };

  StoreServer(FileDescriptor listening, std::string secret, const Limits& limits);
  StoreServer(FileDescriptor listening, std::string secret);
  ~StoreServer();

  int port() const;

  // Direct access to the same keys, for the process that serves them.
  std::optional<std::string> get(const std::string& key) const;
  void set(const std::string& key, std::string value);

 private:
  class Service;
  std::unique_ptr<Service> service_;
};

}  // namespace runner
