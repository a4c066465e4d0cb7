#include "runner/ranks/socket.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <memory>
#include <stdexcept>

#include "registry/base/wording.hpp"

namespace runner {

namespace {

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Addresses look_up(const Address& address, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found);
  if (error != 0) throw std::runtime_error("cannot find " + address.host + ": " + gai_strerror(error));
  return {found, &freeaddrinfo};
}

// Sends small messages without delay, and notices eventually that the machine of a peer is gone.
void set_options(const FileDescriptor& socket) {
  const int on = 1;
  setsockopt(socket.number(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(socket.number(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
}

int milliseconds_until(Deadline deadline) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
  return left <= 0 ? 0 : static_cast<int>(std::min<std::int64_t>(left, 1 << 30));
}

bool ready(const FileDescriptor& socket, short events, Deadline deadline) {
  pollfd entry{socket.number(), events, 0};
  while (true) {
    const int count = poll(&entry, 1, milliseconds_until(deadline));
    if (count > 0) return true;
    if (count == 0 || errno != EINTR) return false;
  }
}

FileDescriptor try_connect(const addrinfo& entry, Deadline deadline) {
  FileDescriptor socket(::socket(entry.ai_family, entry.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return {};
  if (connect(socket.number(), entry.ai_addr, entry.ai_addrlen) != 0) {
    if (errno != EINPROGRESS || !ready(socket, POLLOUT, deadline)) return {};
    int error = 0;
    socklen_t length = sizeof error;
    getsockopt(socket.number(), SOL_SOCKET, SO_ERROR, &error, &length);
    if (error != 0) return {};
  }
  set_options(socket);
  return socket;
}

}  // namespace

void FileDescriptor::reset() {
  if (number_ >= 0) close(std::exchange(number_, -1));
}

Address parse_address(const std::string& text) {
  const auto colon = text.rfind(':');
  Address address;
  const char* const end = text.data() + text.size();
  if (colon == std::string::npos || colon == 0 || colon + 1 == text.size() ||
      std::from_chars(text.data() + colon + 1, end, address.port).ptr != end || address.port < 0 ||
      address.port > 65535) {
    throw std::invalid_argument(in_quotes(text) + " is not an address: write HOST:PORT");
  }
  address.host = text.substr(0, colon);
  if (address.host.front() == '[' && address.host.back() == ']')
    address.host = address.host.substr(1, address.host.size() - 2);
  return address;
}

std::string to_string(const Address& address) {
  const bool v6 = address.host.find(':') != std::string::npos;
  return (v6 ? "[" + address.host + "]" : address.host) + ":" + std::to_string(address.port);
}

FileDescriptor listen_on(const Address& address) {
  const Addresses found = look_up(address, AI_PASSIVE);
  FileDescriptor socket(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  setsockopt(socket.number(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  constexpr int backlog = 1024;
  if (!socket || bind(socket.number(), found->ai_addr, found->ai_addrlen) != 0 ||
      listen(socket.number(), backlog) != 0) {
    throw std::runtime_error("cannot listen on " + to_string(address) + ": " +
                             std::system_category().message(errno));
  }
  return socket;
}

int port_of(const FileDescriptor& socket) {
  sockaddr_storage bound{};
  socklen_t length = sizeof bound;
  getsockname(socket.number(), reinterpret_cast<sockaddr*>(&bound), &length);
  return ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(bound).sin6_port
                                           : reinterpret_cast<const sockaddr_in&>(bound).sin_port);
}

FileDescriptor connect_to(const Address& address, Deadline deadline) {
  const Addresses found = look_up(address, 0);
  for (const addrinfo* entry = found.get(); entry; entry = entry->ai_next) {
    if (FileDescriptor socket = try_connect(*entry, deadline)) return socket;
  }
  return {};
}

std::string own_address_towards(const Address& address) {
  const Addresses found = look_up(address, 0);
  // Connecting a datagram socket sends nothing: it only looks up the route.
  const FileDescriptor socket(::socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_storage own{};
  socklen_t length = sizeof own;
  std::array<char, NI_MAXHOST> name{};
  if (!socket || connect(socket.number(), found->ai_addr, found->ai_addrlen) != 0 ||
      getsockname(socket.number(), reinterpret_cast<sockaddr*>(&own), &length) != 0 ||
      getnameinfo(reinterpret_cast<sockaddr*>(&own), length, name.data(), name.size(), nullptr, 0,
                  NI_NUMERICHOST) != 0)
    throw std::runtime_error("this machine has no route to " + to_string(address));
  return name.data();
}

bool is_loopback(const Address& address) {
  const Addresses found = look_up(address, 0);
  for (const addrinfo* entry = found.get(); entry; entry = entry->ai_next) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(entry->ai_addr);
    const auto* v6 = reinterpret_cast<const sockaddr_in6*>(entry->ai_addr);
    const bool here = entry->ai_family == AF_INET6 ? IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr) != 0
                                                   : ntohl(v4->sin_addr.s_addr) >> 24U == IN_LOOPBACKNET;
    if (!here) return false;
  }
  return true;
}

bool is_loopback_in_disguise(const Address& address) {
  const bool says_so =
      address.host == "localhost" || address.host.starts_with("127.") || address.host == "::1";
  return !says_so && is_loopback(address);
}

void allow_many_descriptors() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);  // if it fails, the limit stays as it was
}

bool send_all(const FileDescriptor& socket, const std::string& bytes, Deadline deadline) {
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t count =
        ::send(socket.number(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count > 0) {
      sent += static_cast<std::size_t>(count);
    } else if (errno == EAGAIN || errno == EINTR) {
      if (!ready(socket, POLLOUT, deadline)) return false;
    } else {
      return false;
    }
  }
  return true;
}

bool can_receive(const FileDescriptor& socket) {
  return ready(socket, POLLIN, std::chrono::steady_clock::now());
}

bool receive_some(const FileDescriptor& socket, std::string& bytes, Deadline deadline) {
  std::array<char, 65536> buffer;
  while (true) {
    if (!ready(socket, POLLIN, deadline)) return false;
    const ssize_t count = recv(socket.number(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (count > 0) {
      bytes.append(buffer.data(), static_cast<std::size_t>(count));
      return true;
    }
    if (count == 0 || (errno != EAGAIN && errno != EINTR)) return false;
  }
}

}  // namespace runner
