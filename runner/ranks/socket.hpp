#pragma once

#include <chrono>
#include <string>
#include <utility>

namespace runner {

// A file descriptor that is closed with its owner.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int number) : number_(number) {}
  FileDescriptor(FileDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~FileDescriptor() { reset(); }

  int number() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }
  void reset();

 private:
  int number_ = -1;
};

struct Address {
  std::string host;
  int port = 0;
};

// "host:port", "[::1]:port". Throws std::invalid_argument.
Address parse_address(const std::string& text);
std::string to_string(const Address& address);

// A socket that listens; port 0 chooses a free port. Throws std::runtime_error that names the address.
FileDescriptor listen_on(const Address& address);
int port_of(const FileDescriptor& socket);

// Returns an empty descriptor if there is no answer before the deadline.
using Deadline = std::chrono::steady_clock::time_point;
FileDescriptor connect_to(const Address& address, Deadline deadline);

// The address of this machine that a peer at that address sees.
std::string own_address_towards(const Address& address);
// Whether the host is a loopback address, which other machines cannot reach: 127.0.0.1, or a name that
// /etc/hosts maps to it. Throws std::runtime_error if the host is unknown.
bool is_loopback(const Address& address);
// The same, but false for names that are obviously loopback, such as "localhost".
bool is_loopback_in_disguise(const Address& address);

// Lets this process, and those it starts, open as many files and sockets as the system permits.
void allow_many_descriptors();

// False if the peer is gone or the deadline has passed.
bool send_all(const FileDescriptor& socket, const std::string& bytes, Deadline deadline);
// Whether receiving would not wait: there are bytes, or the peer is gone.
bool can_receive(const FileDescriptor& socket);
// Waits for at least one byte and appends what has arrived. False as for send_all().
bool receive_some(const FileDescriptor& socket, std::string& bytes, Deadline deadline);

}  // namespace runner
