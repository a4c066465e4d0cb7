#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "runner/ranks/socket.hpp"

namespace runner {

// Where processes of one user on one machine find each other if no address is configured: a folder that
// only this user can enter, named after their job. One writes where the store is, and its secret.
class MeetingPlace {
 public:
  struct Store {
    Address address;
    std::string secret;
  };

  // Throws std::runtime_error if the folder exists, but others can access it.
  explicit MeetingPlace(const std::string& job);

  void announce(const Store& store) const;
  std::optional<Store> find() const;
  void remove() const;

 private:
  std::filesystem::path folder_;
};

// The contents of the file. Throws std::runtime_error if it cannot be read, or if other users can read it.
std::string read_secret_file(const std::filesystem::path& file);

}  // namespace runner
