#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace runner::testing {

// A web server on loopback with one file, and with the faults that real ones have.
class HttpServer {
 public:
  struct Behaviour {
    std::string body;
    bool ranges = true;         // without: always everything, from the start
    int status = 200;           // anything else: no body
    std::size_t cut_after = 0;  // breaks the connection after this many bytes of the body, 0: never
    int cuts = 1 << 30;         // so often, then no more
    bool endless = false;       // sends the body again and again, and does not say how long it is
  };

  explicit HttpServer(Behaviour behaviour) : behaviour_(std::move(behaviour)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(listener_, 8) != 0 ||
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
      throw std::runtime_error("no port on loopback");
    }
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }

  std::string url(const std::string& path) const {
    return "http://127.0.0.1:" + std::to_string(port_) + path;
  }
  std::vector<std::string> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  void serve() {
    for (;;) {
      const int connection = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (connection < 0) return;
      answer(connection);
      ::close(connection);
    }
  }

  void answer(int connection) {
    std::string request;
    for (char buffer[4096]; request.find("\r\n\r\n") == std::string::npos;) {
      const ssize_t count = ::recv(connection, buffer, sizeof buffer, 0);
      if (count <= 0) return;
      request.append(buffer, static_cast<std::size_t>(count));
    }
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(request);
    }
    if (behaviour_.status != 200) return send(connection, header(behaviour_.status, 0));
    if (behaviour_.endless) return send_without_end(connection);
    std::size_t start = 0;
    if (const auto range = request.find("Range: bytes="); behaviour_.ranges && range != std::string::npos) {
      start = std::stoul(request.substr(range + 13));
      if (start >= behaviour_.body.size()) return send(connection, header(416, 0));
    }
    std::string body = behaviour_.body.substr(start);
    send(connection, header(start > 0 ? 206 : 200, body.size(), start));
    if (behaviour_.cut_after > 0 && behaviour_.cuts > 0 && body.size() > behaviour_.cut_after) {
      --behaviour_.cuts;
      body.resize(behaviour_.cut_after);
    }
    send(connection, body);
  }

  void send_without_end(int connection) const {
    std::string_view next = "HTTP/1.1 200 x\r\nConnection: close\r\n\r\n";
    while (::send(connection, next.data(), next.size(), MSG_NOSIGNAL) > 0) next = behaviour_.body;
  }

  std::string header(int status, std::size_t length, std::size_t start = 0) const {
    std::string text = "HTTP/1.1 " + std::to_string(status) +
                       " x\r\nConnection: close\r\nContent-Length: " + std::to_string(length) + "\r\n";
    if (status == 206) {
      const std::size_t whole = behaviour_.body.size();
      text += "Content-Range: bytes " + std::to_string(start) + "-" + std::to_string(whole - 1) + "/" +
              std::to_string(whole) + "\r\n";
    }
    return text + "\r\n";
  }

  static void send(int connection, const std::string& bytes) {
    for (std::size_t done = 0; done < bytes.size();) {
      const ssize_t count = ::send(connection, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
      if (count <= 0) return;
      done += static_cast<std::size_t>(count);
    }
  }

  Behaviour behaviour_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  mutable std::mutex mutex_;
  std::vector<std::string> requests_;
  std::thread thread_;
};

}  // namespace runner::testing
