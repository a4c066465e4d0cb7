#include "runner/launch/run_store.hpp"

#include "runner/distributed/meeting_place.hpp"
#include "runner/distributed/store_protocol.hpp"

namespace runner {

using Clock = std::chrono::steady_clock;

RunStore::RunStore(const LaunchOptions& options)
    : secret_(options.secret_file ? read_secret_file(*options.secret_file)
                                  : store::random_bytes(store::nonce_bytes)) {
  if (options.node != 0) {
    address_ = *options.rendezvous;
    return;
  }
  allow_many_descriptors();  // every rank has several connections to the store
  const Address wanted = options.rendezvous.value_or(Address{"127.0.0.1", 0});
  FileDescriptor socket = listen_on(wanted);  // kept from now on: nobody else can take the port
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

void RunStore::tell_failure(int restart) {
  if (server_) return server_->set(failure_key(restart), "1");
  ask([&] { client_->set(failure_key(restart), std::vector<std::uint8_t>{'1'}); });
}

std::optional<std::string> RunStore::get(const std::string& key) {
  if (server_) return server_->get(key);
  std::optional<std::string> value;
  ask([&] {
    if (client_->check({key})) value = client_->get_to_str(key);
  });
  return value;
}

// The first machine may be gone, or yet to come. Nobody else is served while this waits for it, so it waits
// for a moment only, and not again at once.
template <class Ask>
void RunStore::ask(Ask question) {
  if (Clock::now() < try_again_at_) return;
  constexpr std::chrono::seconds patience{1}, pause{5};
  try {
    if (!client_) client_ = c10::make_intrusive<StoreClient>(address_, secret_, patience);
    question();
  } catch (const std::exception&) {
    client_.reset();
    try_again_at_ = Clock::now() + pause;
  }
}

}  // namespace runner
