#include "runner/ranks/store_client.hpp"

#include <c10/util/Exception.h>
#include <torch/csrc/distributed/c10d/exception.h>

#include <algorithm>
#include <limits>
#include <thread>

#include "registry/base/log.hpp"

namespace runner {

namespace {

using namespace store;
using Bytes = std::vector<std::uint8_t>;
using Clock = std::chrono::steady_clock;

constexpr std::size_t most_bytes = std::size_t{64} << 20;

std::string text_of(const Bytes& bytes) { return {bytes.begin(), bytes.end()}; }
Bytes bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

Writer begin_request(Request what) {
  Writer writer;
  writer.number(static_cast<std::int64_t>(what));
  return writer;
}

}  // namespace

StoreClient::StoreClient(Address address, std::string secret, std::chrono::milliseconds timeout,
                         std::string prefix)
    : c10d::Store(timeout),
      address_(std::move(address)),
      secret_(std::move(secret)),
      prefix_(std::move(prefix)) {
  connect(Clock::now() + timeout);
}

void StoreClient::connect(Deadline deadline) {
  constexpr std::chrono::milliseconds pause{50}, for_one_try{5000};
  while (true) {
    socket_ = connect_to(address_, deadline);
    // A store that is flooded with connections of strangers may have closed this one: try again.
    if (socket_ && shake_hands(std::min(deadline, Clock::now() + for_one_try))) return;
    if (Clock::now() + pause >= deadline)
      throw std::runtime_error(log::format("The run's store at {} does not answer.", to_string(address_)));
    std::this_thread::sleep_for(pause);
  }
}

bool StoreClient::shake_hands(Deadline deadline) {
  received_.clear();
  const auto receive = [&](std::size_t count) {
    while (received_.size() < count) {
      if (!receive_some(socket_, received_, deadline)) return false;
    }
    return true;
  };
  if (!receive(hello_bytes)) return false;
  if (!received_.starts_with(greeting))
    throw StoreRefusal(log::format("The program at {} is not the store of a run, or is of another version.",
                                   to_string(address_)));
  const std::string store_nonce = received_.substr(greeting.size(), nonce_bytes);
  const std::string own_nonce = random_bytes(nonce_bytes);
  received_.erase(0, hello_bytes);
  if (!send_all(socket_, own_nonce + prove_side(secret_, Side::client, store_nonce, own_nonce), deadline) ||
      !receive(proof_bytes))
    return false;
  if (!same_proof(received_.substr(0, proof_bytes), prove_side(secret_, Side::store, store_nonce, own_nonce)))
    throw StoreRefusal(log::format(
        "The store at {} belongs to another run: its secret is not the one given here. Give every machine "
        "the same secret file.",
        to_string(address_)));
  received_.erase(0, proof_bytes);
  session_.emplace(secret_, Side::client, store_nonce, own_nonce, most_bytes);
  return true;
}

Writer StoreClient::request(Request what, const std::string& key) const {
  return begin_request(what).text(prefix_ + key);
}

std::vector<std::string> StoreClient::prefixed(const std::vector<std::string>& keys) const {
  std::vector<std::string> full;
  for (const std::string& key : keys) full.push_back(prefix_ + key);
  return full;
}

// When the old connection ended, the store told the others that this process is gone: that is undone here.
void StoreClient::reconnect() {
  constexpr std::chrono::seconds patience{1};
  const Deadline deadline = Clock::now() + patience;
  try {
    connect(deadline);
  } catch (const std::exception&) {
    socket_.reset();
    throw;
  }
  if (!when_gone_) return;
  exchange(request(Request::set_on_disconnect, when_gone_->first).text(when_gone_->second), deadline);
  exchange(request(Request::remove, when_gone_->first), deadline);
}

std::string StoreClient::ask(const Writer& request, std::chrono::milliseconds patience) {
  const std::scoped_lock lock(mutex_);
  if (!socket_) reconnect();
  return exchange(request, Clock::now() + patience);
}

std::string StoreClient::exchange(const Writer& request, Deadline deadline) {
  if (send_all(socket_, session_->seal(request.bytes()), deadline)) {
    while (true) {
      if (auto answer = session_->open(received_)) return *std::move(answer);
      if (!receive_some(socket_, received_, deadline)) break;
    }
  }
  lose_store();
}

void StoreClient::lose_store() {
  socket_.reset();  // a late answer would be taken for that of the next request
  C10_THROW_ERROR(DistNetworkError,
                  log::format("The run's store at {} no longer answers.", to_string(address_)));
}

void StoreClient::watch(const std::string& key) {
  const std::scoped_lock lock(mutex_);
  constexpr std::int64_t for_ever = std::numeric_limits<std::int64_t>::max();
  const Writer request = begin_request(Request::wait).texts(prefixed({key})).number(for_ever);
  if (!send_all(socket_, session_->seal(request.bytes()), Clock::now() + for_an_answer())) lose_store();
}

bool StoreClient::is_there() {
  const std::scoped_lock lock(mutex_);
  while (can_receive(socket_)) {
    if (!receive_some(socket_, received_, Clock::now())) lose_store();
    if (const auto answer = session_->open(received_)) return Reader(*answer).number() != 0;
  }
  return false;
}

// A working store answers at once; one whose machine is disconnected never does. Waiting for it must not take
// much longer than the timeout for ranks.
std::chrono::milliseconds StoreClient::for_an_answer() const {
  constexpr std::chrono::milliseconds least{3000}, most{30000};  // a busy machine may need a moment
  return std::clamp(getTimeout(), least, most);
}

void StoreClient::leave_when_gone(const std::string& key, const std::string& value) {
  ask(request(Request::set_on_disconnect, key).text(value), for_an_answer());
  when_gone_.emplace(key, value);
}

c10::intrusive_ptr<c10d::Store> StoreClient::clone() {
  return c10::make_intrusive<StoreClient>(address_, secret_, getTimeout(), prefix_);
}

void StoreClient::set(const std::string& key, const Bytes& value) {
  ask(request(Request::set, key).text(text_of(value)), for_an_answer());
}

Bytes StoreClient::compareSet(const std::string& key, const Bytes& expected, const Bytes& wanted) {
  const Writer question = request(Request::compare_set, key).text(text_of(expected)).text(text_of(wanted));
  return bytes_of(Reader(ask(question, for_an_answer())).text());
}

Bytes StoreClient::get(const std::string& key) {
  wait({key}, getTimeout());
  const std::string answer = ask(request(Request::get, key), for_an_answer());
  Reader reader(answer);
  reader.number();
  return bytes_of(reader.text());
}

std::int64_t StoreClient::add(const std::string& key, std::int64_t value) {
  return Reader(ask(request(Request::add, key).number(value), for_an_answer())).number();
}

bool StoreClient::deleteKey(const std::string& key) {
  return Reader(ask(request(Request::remove, key), for_an_answer())).number() != 0;
}

bool StoreClient::check(const std::vector<std::string>& keys) {
  return Reader(ask(begin_request(Request::check).texts(prefixed(keys)), for_an_answer())).number() != 0;
}

std::int64_t StoreClient::getNumKeys() {
  return Reader(ask(begin_request(Request::count), for_an_answer())).number();
}

void StoreClient::wait(const std::vector<std::string>& keys) { wait(keys, getTimeout()); }

void StoreClient::wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& timeout) {
  const std::string answer = ask(begin_request(Request::wait).texts(prefixed(keys)).number(timeout.count()),
                                 timeout + for_an_answer());
  if (Reader(answer).number() == 0)
    C10_THROW_ERROR(DistStoreError,
                    log::format("wait timeout after {} ms, keys: {}", timeout.count(), keys[0]));
}

void StoreClient::append(const std::string& key, const Bytes& value) {
  ask(request(Request::append, key).text(text_of(value)), for_an_answer());
}

}  // namespace runner
