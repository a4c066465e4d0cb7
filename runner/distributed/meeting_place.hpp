#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

#include "runner/distributed/socket.hpp"

namespace runner {

// Where processes of one user on one machine find each other if no address is configured: a folder that
// only this user can enter, named after their job. One writes where the store is, and its secret.
class MeetingPlace {
 public:
  struct Store {
    Address address;
    std::string secret;
  };

  // Throws std::runtime_error where the folder is there, but not this user's alone.
  explicit MeetingPlace(const std::string& job);

  void announce(const Store& store) const;
  std::optional<Store> find() const;
  void remove() const;

 private:
  std::filesystem::path folder_;
};

// The whole of a file that nobody else can read. Throws std::runtime_error, also where others can.
std::string read_secret_file(const std::filesystem::path& file);

}  // namespace runner
