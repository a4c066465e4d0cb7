#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "runner/ranks/launch/launch_ranks.hpp"
#include "runner/ranks/sighting.hpp"
#include "runner/ranks/store_client.hpp"
#include "runner/ranks/store_server.hpp"

namespace runner {

// The store of a run, as used by launchers: the one on machine 0 serves it, the others are clients.
class RunStore {
 public:
  // Throws BadRendezvous if this machine cannot serve it at the address.
  explicit RunStore(const LaunchOptions& options);

  const Address& address() const { return address_; }
  const std::string& secret() const { return secret_; }

  // What ranks have reported in this attempt; nothing if they have not, or if machine 0 does not answer.
  std::optional<Sighting> sighting(int restart, int rank);
  std::optional<std::string> folder(int restart);

  // The others learn that a rank has ended, even if it had not yet joined them.
  void tell_end(int restart, int rank) { set(attempt_name(restart) + "/" + gone_key(rank), ""); }

  // A machine on which a rank failed tells the others, whose ranks may notice only when a collective times
  // out. The descriptor becomes readable when has_failed() may have changed; -1: it has to be polled.
  void tell_failure(int restart);
  bool has_failed(int restart);
  int failure_descriptor() const { return watching_ ? watching_->descriptor() : -1; }

  // Messages between launchers.
  std::optional<std::string> get(const std::string& key);
  void set(const std::string& key, const std::string& value);
  // Returns the value afterwards; nothing if machine 0 does not answer.
  std::optional<std::string> set_if_missing(const std::string& key, const std::string& value);

  // has_left(): whether the connection of the launcher with this name has ended.
  const std::string& own_name() const { return own_name_; }  // host and process
  bool has_left(const std::string& launcher) { return get(left_key(launcher)).has_value(); }

  bool answers() const { return server_ || client_; }  // at the last request
  const std::string& refusal() const {
    return refusal_;
  }  // why it never will: another secret, another version

 private:
  static std::string failure_key(int restart) { return attempt_name(restart) + "/failed"; }
  static std::string left_key(const std::string& launcher) { return "left/" + launcher; }
  void connect();
  template <class Ask>
  void ask(Ask question);  // sends a request to machine 0, unless the last one just failed

  const std::string secret_, own_name_;
  Address address_;
  std::unique_ptr<StoreServer> server_;
  c10::intrusive_ptr<StoreClient> client_, watching_;
  std::optional<int> watched_;  // the attempt that watching_ watches
  std::string refusal_;
  std::chrono::steady_clock::time_point try_again_at_;
};

}  // namespace runner
