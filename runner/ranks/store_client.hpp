#pragma once

#include <torch/csrc/distributed/c10d/Store.hpp>

#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "runner/ranks/socket.hpp"
#include "runner/ranks/store_protocol.hpp"

namespace runner {

// The peer is not the store of this run: it has another secret or version, or is another program.
struct StoreRefusal : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A client of the run's store, for c10d. A connection serves one thread at a time; clone() opens another one.
// A request that is not answered in time fails; the next one reconnects, because the store may only have been
// suspended.
class StoreClient : public c10d::Store {
 public:
  // Retries until the timeout: the store may start later. Throws StoreRefusal, or std::runtime_error that
  // says what is wrong. The prefix is put before every key.
  StoreClient(Address address, std::string secret, std::chrono::milliseconds timeout,
              std::string prefix = "");

  // The store sets this key when the connection ends, so that the others learn that this process is gone.
  void leave_when_gone(const std::string& key, const std::string& value);

  // Asks to be notified when the key exists, without waiting: the descriptor then becomes readable, also if
  // the store is gone, in which case is_there() throws. A client that watches can do nothing else.
  void watch(const std::string& key);
  int descriptor() const { return socket_.number(); }
  bool is_there();

  c10::intrusive_ptr<c10d::Store> clone() override;
  using c10d::Store::compareSet;
  using c10d::Store::set;
  void set(const std::string& key, const std::vector<std::uint8_t>& value) override;
  std::vector<std::uint8_t> compareSet(const std::string& key, const std::vector<std::uint8_t>& expected,
                                       const std::vector<std::uint8_t>& wanted) override;
  std::vector<std::uint8_t> get(const std::string& key) override;  // waits for the key
  std::int64_t add(const std::string& key, std::int64_t value) override;
  bool deleteKey(const std::string& key) override;
  bool check(const std::vector<std::string>& keys) override;
  std::int64_t getNumKeys() override;
  void wait(const std::vector<std::string>& keys) override;
  void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& timeout) override;
  void append(const std::string& key, const std::vector<std::uint8_t>& value) override;

 private:
  void connect(Deadline deadline);
  void reconnect();
  std::string exchange(const store::Writer& request, Deadline deadline);
  [[noreturn]] void lose_store();
  bool shake_hands(Deadline deadline);
  std::vector<std::string> prefixed(const std::vector<std::string>& keys) const;
  store::Writer request(store::Request what, const std::string& key) const;
  std::chrono::milliseconds for_an_answer() const;
  std::string ask(const store::Writer& request, std::chrono::milliseconds patience);

  const Address address_;
  const std::string secret_, prefix_;
  std::mutex mutex_;
  FileDescriptor socket_;
  std::string received_;
  std::optional<store::Session> session_;
  std::optional<std::pair<std::string, std::string>> when_gone_;
};

}  // namespace runner
