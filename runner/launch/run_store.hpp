#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "runner/distributed/sighting.hpp"
#include "runner/distributed/store_client.hpp"
#include "runner/distributed/store_server.hpp"
#include "runner/launch/launch.hpp"

namespace runner {

// The store of a run as its launcher has it: served here on the first machine, asked for on the others.
class RunStore {
 public:
  // Throws std::runtime_error where the port is taken or the secret cannot be read.
  explicit RunStore(const LaunchOptions& options);

  const Address& address() const { return address_; }
  const std::string& secret() const { return secret_; }

  // What ranks have told in this attempt; nothing where they have not, or where machine 0 does not answer.
  std::optional<Sighting> sighting(int restart, int rank);
  std::optional<std::string> folder(int restart);

  // A machine on which a rank failed tells the others: their ranks may notice only when a collective times
  // out.
  void tell_failure(int restart);
  bool has_failed(int restart) { return get(failure_key(restart)).has_value(); }

  bool answers() const { return server_ || client_; }  // as far as the last question tells

 private:
  static std::string failure_key(int restart) { return attempt_name(restart) + "/failed"; }
  std::optional<std::string> get(const std::string& key);
  template <class Ask>
  void ask(Ask question);  // of the store on another machine, unless it did not answer just now

  const std::string secret_;
  Address address_;
  std::unique_ptr<StoreServer> server_;
  c10::intrusive_ptr<StoreClient> client_;
  std::chrono::steady_clock::time_point try_again_at_;
};

}  // namespace runner
