#include "runner/ranks/launch/run_store.hpp"

#include <unistd.h>

#include "registry/base/log.hpp"
#include "registry/base/machine.hpp"
#include "runner/ranks/store_protocol.hpp"

namespace runner {

using Clock = std::chrono::steady_clock;

namespace {

std::string name_of_this_launcher() { return log::format("host {}, process {}", host_name(), getpid()); }

FileDescriptor listen_at(const Address& address) {
  try {
    return listen_on(address);
  } catch (const std::exception& error) {
    throw BadRendezvous(error.what());
  }
}

}  // namespace

RunStore::RunStore(const LaunchOptions& options)
    : secret_(options.secret.empty() ? store::random_bytes(store::nonce_bytes) : options.secret),
      own_name_(name_of_this_launcher()) {
  if (options.node != 0) {
    address_ = *options.rendezvous;
    return;
  }
  allow_many_descriptors();  // every rank has several connections to the store
  const Address wanted = options.rendezvous.value_or(Address{"127.0.0.1", 0});
  FileDescriptor socket = listen_at(wanted);  // kept from now on: nobody else can take the port
  address_ = {wanted.host, port_of(socket)};
  server_ = std::make_unique<StoreServer>(std::move(socket), secret_);
}

std::optional<Sighting> RunStore::sighting(int restart, int rank) {
  const auto text = get(attempt_name(restart) + "/" + rank_key(rank));
  return text ? std::optional(parse_sighting(*text)) : std::nullopt;
}

std::optional<std::string> RunStore::folder(int restart) {
  return get(attempt_name(restart) + "/" + folder_key);
}

void RunStore::tell_failure(int restart) { set(failure_key(restart), "1"); }

bool RunStore::has_failed(int restart) {
  if (server_) return server_->get(failure_key(restart)).has_value();
  bool failed = false;
  ask([&] {
    if (!watching_ || watched_ != restart) {
      watching_ = c10::static_intrusive_pointer_cast<StoreClient>(client_->clone());
      watching_->watch(failure_key(restart));
      watched_ = restart;
    }
    failed = watching_->is_there();
  });
  return failed;
}

std::optional<std::string> RunStore::get(const std::string& key) {
  if (server_) return server_->get(key);
  std::optional<std::string> value;
  ask([&] {
    if (client_->check({key})) value = client_->get_to_str(key);
  });
  return value;
}

void RunStore::set(const std::string& key, const std::string& value) {
  if (server_) return server_->set(key, value);
  ask([&] { client_->set(key, value); });
}

std::optional<std::string> RunStore::set_if_missing(const std::string& key, const std::string& value) {
  std::optional<std::string> held;
  ask([&] { held = client_->compareSet(key, std::string(), value); });
  return held;
}

// Machine 0 may be gone, or may not have started yet. The launcher does nothing else while it waits here, so
// it waits only briefly, and pauses before the next try.
template <class Ask>
void RunStore::ask(Ask question) {
  if (Clock::now() < try_again_at_) return;
  constexpr std::chrono::seconds pause{1};
  try {
    if (!client_) connect();
    question();
  } catch (const std::exception& error) {
    if (dynamic_cast<const StoreRefusal*>(&error)) refusal_ = error.what();
    client_.reset();
    watching_.reset();
    try_again_at_ = Clock::now() + pause;
  }
}

void RunStore::connect() {
  constexpr std::chrono::seconds patience{1};
  auto client = c10::make_intrusive<StoreClient>(address_, secret_, patience);
  client->leave_when_gone(left_key(own_name_), "");
  client->deleteKey(left_key(own_name_));  // set if the connection was lost for a while
  client_ = std::move(client);
}

}  // namespace runner
