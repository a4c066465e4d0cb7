#include "runner/ranks/store_server.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <list>
#include <thread>
#include <utility>
#include <vector>

#include "registry/base/log.hpp"
#include "runner/ranks/store_contents.hpp"
#include "runner/ranks/store_protocol.hpp"

namespace runner {

namespace {

using Clock = std::chrono::steady_clock;
using namespace store;

struct Waiting {
  std::vector<std::string> keys;
  Clock::time_point until;
};

struct Connection {
  FileDescriptor socket;
  std::string nonce;
  Clock::time_point since = Clock::now();
  std::string received = {}, to_send = {};
  std::optional<Session> session = {};  // once the peer has proved itself
  std::optional<Waiting> waiting = {};  // for keys; the answer is sent later
  std::optional<std::pair<std::string, std::string>> on_disconnect = {};  // key and value to set then
  bool finished = false;                                                  // to be closed once all is sent

  bool stranger() const { return !session; }
  void drop() {
    finished = true;
    to_send.clear();
  }
};

}  // namespace

namespace {

// The address at the other end; "an unknown address" if it has left already.
std::string peer_of(const FileDescriptor& socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  char host[NI_MAXHOST] = "";
  if (::getpeername(socket.number(), reinterpret_cast<sockaddr*>(&address), &size) != 0 ||
      ::getnameinfo(reinterpret_cast<sockaddr*>(&address), size, host, sizeof host, nullptr, 0,
                    NI_NUMERICHOST) != 0)
    return "an unknown address";
  return host;
}

}  // namespace

class StoreServer::Service {
 public:
  Service(FileDescriptor listening, std::string secret, const Limits& limits)
      : listening_(std::move(listening)),
        port_(port_of(listening_)),
        secret_(std::move(secret)),
        limits_(limits),
        contents_(limits.stored_bytes),
        wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        thread_([this](const std::stop_token& stop) { serve(stop); }) {}

  ~Service() {
    thread_.request_stop();
    wake();
  }

  int port() const { return port_; }
  Contents& contents() { return contents_; }

  void wake() const {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = write(wake_.number(), &one, sizeof one);
  }

 private:
  void serve(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const std::vector<pollfd> events = poll_all();
      if (events[0].revents != 0) drain_wake();
      auto event = events.begin() + 2;
      for (Connection& connection : connections_) serve(connection, (event++)->revents);
      drop_finished();
      answer_waiting();  // last: closed connections may have set keys
      if (events[1].revents != 0) accept_some();
    }
  }

  std::vector<pollfd> poll_all() {
    const bool accepting = Clock::now() >= accept_again_at_;
    std::vector<pollfd> events{{wake_.number(), POLLIN, 0},
                               {listening_.number(), static_cast<short>(accepting ? POLLIN : 0), 0}};
    auto next = accepting ? Clock::now() + std::chrono::seconds(60) : accept_again_at_;
    for (const Connection& connection : connections_) {
      const bool sending = !connection.to_send.empty();
      events.push_back({connection.socket.number(), static_cast<short>(POLLIN | (sending ? POLLOUT : 0)), 0});
      if (connection.stranger()) next = std::min(next, connection.since + limits_.proof_within);
      if (connection.waiting) next = std::min(next, connection.waiting->until);
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now()).count();
    if (poll(events.data(), events.size(), static_cast<int>(std::max<std::int64_t>(left, 0))) < 0)
      for (pollfd& event : events) event.revents = 0;  // interrupted: look again
    return events;
  }

  void drain_wake() const {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto taken = read(wake_.number(), &count, sizeof count);
  }

  // A few at a time, so that a flood of connections does not keep the ranks waiting.
  void accept_some() {
    for (int i = 0; i < 32; ++i) {
      FileDescriptor socket(accept4(listening_.number(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (!socket && (errno == EMFILE || errno == ENFILE) && make_room()) continue;
      if (!socket) return;
      if (connections_.size() >= limits_.connections) continue;
      if (strangers() >= limits_.strangers) drop_oldest_stranger();
      Connection& connection =
          connections_.emplace_back(Connection{std::move(socket), random_bytes(nonce_bytes)});
      connection.to_send = std::string(greeting) + connection.nonce;
      flush(connection);
    }
  }

  // No descriptor is left: the oldest unauthenticated connection is closed. If there is none, new clients
  // have to wait until another one leaves, and this thread must not spin until then.
  bool make_room() {
    if (strangers() > 0) {
      drop_oldest_stranger();
      return true;
    }
    constexpr std::chrono::milliseconds pause{100};
    accept_again_at_ = Clock::now() + pause;
    return false;
  }

  std::size_t strangers() const {
    return static_cast<std::size_t>(std::ranges::count_if(connections_, &Connection::stranger));
  }

  void drop_oldest_stranger() {
    connections_.erase(std::ranges::find_if(connections_, &Connection::stranger));  // in the order of arrival
  }

  void serve(Connection& connection, short events) {
    try {
      if ((events & (POLLIN | POLLERR | POLLHUP)) != 0) receive(connection);
      if ((events & POLLOUT) != 0) flush(connection);
      if (connection.stranger() && Clock::now() - connection.since > limits_.proof_within) connection.drop();
    } catch (const ProtocolError&) {
      connection.drop();
    }
  }

  void receive(Connection& connection) {
    std::array<char, 65536> buffer;
    const ssize_t count = recv(connection.socket.number(), buffer.data(), buffer.size(), 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count <= 0) return connection.drop();
    if (connection.finished) return;
    connection.received.append(buffer.data(), static_cast<std::size_t>(count));
    if (connection.stranger()) check_proof(connection);
    if (!connection.session) return;
    while (!connection.waiting) {
      const auto payload = connection.session->open(connection.received);
      if (!payload) break;
      handle(connection, *payload);
    }
    if (connection.received.size() + connection.to_send.size() > 2 * limits_.message_bytes)
      throw ProtocolError("too much at once");
  }

  void check_proof(Connection& connection) {
    if (connection.received.size() < answer_bytes) return;
    const std::string client_nonce = connection.received.substr(0, nonce_bytes);
    const std::string proof = connection.received.substr(nonce_bytes, proof_bytes);
    connection.received.erase(0, answer_bytes);
    if (!same_proof(proof, prove_side(secret_, Side::client, connection.nonce, client_nonce))) {
      send(connection, std::string(proof_bytes, '\0'));
      connection.finished = true;
      if (!std::exchange(told_of_stranger_, true))
        log::warning(
            "A process at {} wanted to join with another secret and was turned away. If it belongs to this "
            "run, "
            "give every machine the same secret file.",
            peer_of(connection.socket));
      return;
    }
    send(connection, prove_side(secret_, Side::store, connection.nonce, client_nonce));
    connection.session.emplace(secret_, Side::store, connection.nonce, client_nonce, limits_.message_bytes);
  }

  void handle(Connection& connection, const std::string& payload) {
    Reader in(payload);
    Writer out;
    const auto request = static_cast<Request>(in.number());
    const bool with_key = request != Request::check && request != Request::count && request != Request::wait;
    const std::string key = with_key ? in.text() : "";
    switch (request) {
      case Request::set: contents_.set(key, in.text()); break;
      case Request::get: {
        const auto value = contents_.get(key);
        out.number(value ? 1 : 0).text(value.value_or(""));
        break;
      }
      case Request::add: out.number(contents_.add(key, in.number())); break;
      case Request::compare_set: {
        const std::string expected = in.text();
        out.text(contents_.compare_set(key, expected, in.text()));
        break;
      }
      case Request::append: contents_.append(key, in.text()); break;
      case Request::remove: out.number(contents_.remove(key) ? 1 : 0); break;
      case Request::check: out.number(contents_.has(in.texts()) ? 1 : 0); break;
      case Request::count: out.number(static_cast<std::int64_t>(contents_.count())); break;
      case Request::wait: {
        constexpr std::int64_t a_month = 30LL * 24 * 3600 * 1000;  // what a clock can add without overflow
        std::vector<std::string> keys = in.texts();
        const std::chrono::milliseconds patience(std::clamp<std::int64_t>(in.number(), 0, a_month));
        connection.waiting = Waiting{std::move(keys), Clock::now() + patience};
        return;  // answer_waiting sends the answer
      }
      case Request::set_on_disconnect:
        forget_former(key);
        connection.on_disconnect.emplace(key, in.text());
        break;
      default: throw ProtocolError("an unknown request");
    }
    send(connection, connection.session->seal(out.bytes()));
  }

  // A client that has connected again is not gone when its former connection ends, which the network may
  // report much later.
  void forget_former(const std::string& key) {
    for (Connection& connection : connections_)
      if (connection.on_disconnect && connection.on_disconnect->first == key)
        connection.on_disconnect.reset();
  }

  void answer_waiting() {
    for (Connection& connection : connections_) {
      if (!connection.waiting) continue;
      const bool there = contents_.has(connection.waiting->keys);
      if (!there && Clock::now() < connection.waiting->until) continue;
      connection.waiting.reset();
      send(connection, connection.session->seal(Writer().number(there ? 1 : 0).bytes()));
    }
  }

  void send(Connection& connection, const std::string& bytes) {
    connection.to_send += bytes;
    flush(connection);
  }

  static void flush(Connection& connection) {
    while (!connection.to_send.empty()) {
      const ssize_t count = ::send(connection.socket.number(), connection.to_send.data(),
                                   connection.to_send.size(), MSG_NOSIGNAL);
      if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
      if (count <= 0) return connection.drop();
      connection.to_send.erase(0, static_cast<std::size_t>(count));
    }
  }

  void drop_finished() {
    for (auto connection = connections_.begin(); connection != connections_.end();) {
      if (!connection->finished || !connection->to_send.empty()) {
        ++connection;
        continue;
      }
      try {
        if (const auto& left = connection->on_disconnect) contents_.set(left->first, left->second);
      } catch (const ProtocolError&) {  // a full store: there is no way to report it
      }
      connection = connections_.erase(connection);
    }
  }

  FileDescriptor listening_;
  const int port_;
  const std::string secret_;
  const Limits limits_;
  Contents contents_;
  std::list<Connection> connections_;
  Clock::time_point accept_again_at_{};
  FileDescriptor wake_;
  bool told_of_stranger_ = false;
  std::jthread thread_;  // last: it uses everything above
};

StoreServer::StoreServer(FileDescriptor listening, std::string secret, const Limits& limits)
    : service_(std::make_unique<Service>(std::move(listening), std::move(secret), limits)) {}

StoreServer::StoreServer(FileDescriptor listening, std::string secret)
    : StoreServer(std::move(listening), std::move(secret), Limits{}) {}

StoreServer::~StoreServer() = default;

int StoreServer::port() const { return service_->port(); }

std::optional<std::string> StoreServer::get(const std::string& key) const {
  return service_->contents().get(key);
}

void StoreServer::set(const std::string& key, std::string value) {
  service_->contents().set(key, std::move(value));
  service_->wake();  // a client may be waiting for it
}

}  // namespace runner
