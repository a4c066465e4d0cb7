#include <c10/util/Exception.h>
#include <c10/util/intrusive_ptr.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch_all.hpp>
#include <fstream>
#include <random>
#include <thread>

#include "runner/ranks/meeting_place.hpp"
#include "runner/ranks/store_protocol.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace runner;
using namespace runner::testing;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;

namespace {

struct Served {
  StoreServer server{listen_on({"127.0.0.1", 0}), run_secret, few_strangers()};
  Address address{"127.0.0.1", server.port()};

  c10::intrusive_ptr<StoreClient> client(const std::string& with = run_secret) const {
    return c10::make_intrusive<StoreClient>(address, with, 10s);
  }
  FileDescriptor stranger() const { return connect_to(address, soon()); }
  static Deadline soon() { return std::chrono::steady_clock::now() + 10s; }
};

// Reads until the store hangs up: true if it does.
bool hung_up(const FileDescriptor& socket) {
  std::string received;
  while (receive_some(socket, received, Served::soon())) {
  }
  char byte = 0;
  return recv(socket.number(), &byte, 1, MSG_DONTWAIT) != -1 || errno != EAGAIN;
}

}  // namespace

TEST_CASE("store: what c10d asks of one") {
  const Served served;
  const auto store = served.client(), other = served.client();
  store->set("key", std::string("value"));
  CHECK(other->get_to_str("key") == "value");
  CHECK(store->add("count", 3) == 3);
  CHECK(other->add("count", -1) == 2);
  CHECK(store->check({"key", "count"}));
  CHECK_FALSE(store->check({"key", "nothing"}));
  CHECK(store->getNumKeys() == 2);
  CHECK(store->compareSet("key", std::string("wrong"), std::string("new")) == "value");
  CHECK(store->compareSet("key", std::string("value"), std::string("new")) == "new");
  store->append("key", {'e', 'r'});
  CHECK(other->get_to_str("key") == "newer");
  CHECK(store->deleteKey("key"));
  CHECK_FALSE(store->deleteKey("key"));
  CHECK_THROWS_AS(store->wait({"key"}, 20ms), c10::DistStoreError);
  const auto clone = store->clone();
  std::jthread setter([&] { clone->set("late", std::string(100000, 'x')); });
  CHECK(store->get_to_str("late") == std::string(100000, 'x'));
  CHECK(served.server.get("count") == "2");
}

TEST_CASE("store: tells when a client is gone") {
  const Served served;
  auto leaving = served.client();
  const auto staying = served.client();
  leaving->leave_when_gone("gone", "it");
  CHECK_FALSE(staying->check({"gone"}));
  leaving.reset();
  CHECK(staying->get_to_str("gone") == "it");
}

TEST_CASE("store: a client that has connected again is not gone when its former connection ends") {
  const Served served;
  auto former = served.client(), another = served.client();
  const auto again = served.client();
  for (const auto& client : {former, again}) client->leave_when_gone("gone", "it");
  another->leave_when_gone("another gone", "it");
  former.reset();
  another.reset();  // ends after it, so the store has seen both ends once it reports this one
  CHECK(again->get_to_str("another gone") == "it");
  CHECK_FALSE(again->check({"gone"}));
}

TEST_CASE("store: refuses who does not know the secret, and names the reason") {
  const Served served;
  CHECK_THROWS_WITH(served.client("another secret"), ContainsSubstring("belongs to another run"));
  CHECK_NOTHROW(served.client());
}

TEST_CASE("store: a client does not trust whoever answers") {
  // Something that greets rightly but cannot prove that it knows the secret.
  const FileDescriptor listening = listen_on({"127.0.0.1", 0});
  std::jthread impostor([&] {
    FileDescriptor peer;
    while (!peer) peer = FileDescriptor(accept4(listening.number(), nullptr, nullptr, SOCK_NONBLOCK));
    send_all(peer, std::string(store::greeting) + std::string(store::nonce_bytes, 'n'), Served::soon());
    std::string answer;
    while (answer.size() < store::answer_bytes && receive_some(peer, answer, Served::soon())) {
    }
    send_all(peer, std::string(store::proof_bytes, 'p'), Served::soon());
  });
  CHECK_THROWS_WITH(StoreClient({"127.0.0.1", port_of(listening)}, run_secret, 10s),
                    ContainsSubstring("belongs to another run"));
}

TEST_CASE("store: garbage, silence and floods of strangers change nothing for those who belong") {
  const Served served;
  const auto store = served.client();
  store->set("key", std::string("value"));

  SECTION("random bytes") {
    std::mt19937 random(1);
    for (int round = 0; round < 50; ++round) {
      const FileDescriptor stranger = served.stranger();
      std::string bytes(1 + random() % 5000, '\0');
      for (char& byte : bytes) byte = static_cast<char>(random());
      send_all(stranger, bytes, Served::soon());
      if (bytes.size() >= store::answer_bytes) CHECK(hung_up(stranger));
    }
  }
  SECTION("a correct proof, then garbage instead of messages") {
    const FileDescriptor peer = served.stranger();
    std::string hello;
    while (hello.size() < store::hello_bytes) REQUIRE(receive_some(peer, hello, Served::soon()));
    const std::string theirs = hello.substr(store::greeting.size()), ours(store::nonce_bytes, 'x');
    const std::string proof = store::prove_side(run_secret, store::Side::client, theirs, ours);
    SECTION("a length beyond the limit") {
      send_all(peer, ours + proof + "\xff\xff\xff\xff", Served::soon());
      SUCCEED("what comes of it is checked below");
    }
    SECTION("a message with a wrong proof") {
      std::string frame = store::Session(run_secret, store::Side::client, theirs, ours, 1000).seal("payload");
      frame.back() = static_cast<char>(frame.back() ^ 1);
      send_all(peer, ours + proof + frame, Served::soon());
      SUCCEED("what comes of it is checked below");
    }
    SECTION("a message that lies about its fields") {
      const std::string payload = store::Writer().number(0).number(1 << 30).bytes();
      send_all(
          peer,
          ours + proof + store::Session(run_secret, store::Side::client, theirs, ours, 1000).seal(payload),
          Served::soon());
      SUCCEED("what comes of it is checked below");
    }
    CHECK(hung_up(peer));
  }
  SECTION("connections that say nothing are closed") {
    const FileDescriptor silent = served.stranger();
    CHECK(hung_up(silent));
  }
  SECTION("many more connections than there is room for") {
    std::vector<FileDescriptor> flood;
    for (int i = 0; i < 300; ++i) {
      flood.push_back(served.stranger());
      if (i % 50 == 0) CHECK(served.client()->get_to_str("key") == "value");  // new ones still get in
    }
    CHECK(store->get_to_str("key") == "value");
  }
  CHECK(store->get_to_str("key") == "value");
  CHECK(served.client()->get_to_str("key") == "value");
}

TEST_CASE("store: ranks join while strangers flood it") {
  const Served served;
  std::atomic<bool> enough = false;
  std::atomic<int> strangers = 0;
  std::vector<std::jthread> floods;
  for (int i = 0; i < 2; ++i) {
    floods.emplace_back([&] {
      std::vector<FileDescriptor> open;
      while (!enough) {
        if (open.size() == 100) open.clear();
        open.push_back(served.stranger());
        ++strangers;
      }
    });
  }
  for (int rank = 0; rank < 20; ++rank) {
    const auto joining = served.client();
    joining->set("rank", std::to_string(rank));
    CHECK(joining->get_to_str("rank") == std::to_string(rank));
  }
  enough = true;
  floods.clear();
  CHECK(strangers > 20);
}

namespace {

// This process can open only a few more files and sockets while it lives.
class FewDescriptors {
 public:
  explicit FewDescriptors(rlim_t more) {
    getrlimit(RLIMIT_NOFILE, &before_);
    const FileDescriptor next(dup(STDIN_FILENO));
    const rlimit few{static_cast<rlim_t>(next.number()) + more, before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &few);
  }
  ~FewDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

}  // namespace

TEST_CASE("store: strangers that take all descriptors give way to those who come later") {
  StoreServer::Limits limits;  // as many strangers as they like, for as long as they like
  limits.strangers = 10'000;
  limits.proof_within = 600s;
  const StoreServer server(listen_on({"127.0.0.1", 0}), run_secret, limits);
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const FileDescriptor out(ends[0]), in(ends[1]);
  // Another process has descriptors of its own, and is greeted on its last connection or not.
  const pid_t flooding = fork();
  if (flooding == 0) {
    std::vector<FileDescriptor> strangers;
    for (int i = 0; i < 100; ++i)
      strangers.push_back(connect_to({"127.0.0.1", server.port()}, Served::soon()));
    std::string greeting;
    const bool greeted = receive_some(strangers.back(), greeting, Served::soon());
    [[maybe_unused]] const auto written = write(in.number(), greeted ? "y" : "n", 1);
    _exit(0);
  }
  const FewDescriptors few(20);
  char greeted = '?';
  CHECK(read(out.number(), &greeted, 1) == 1);
  CHECK(greeted == 'y');
  waitpid(flooding, nullptr, 0);
}

TEST_CASE("store: a client connects again to a store that did not answer for a while") {
  auto before = std::make_unique<StoreServer>(listen_on({"127.0.0.1", 0}), run_secret);
  const Address address{"127.0.0.1", before->port()};
  StoreClient client(address, run_secret, 10s);
  client.leave_when_gone("gone", "it");
  before.reset();
  StoreServer again(listen_on(address), run_secret);
  again.set("gone", "it");  // what the end of the old connection has left
  CHECK_THROWS_AS(client.set("key", std::string("lost")), c10::DistNetworkError);
  client.set("key", std::string("value"));
  CHECK(again.get("key") == "value");
  CHECK_FALSE(again.get("gone"));
  {
    const auto leaving = c10::make_intrusive<StoreClient>(address, run_secret, 10s);
    leaving->leave_when_gone("it leaves", "too");
  }
  CHECK(client.get_to_str("it leaves") == "too");
}

TEST_CASE("store: it takes only so much") {
  StoreServer::Limits limits;
  limits.stored_bytes = 1000;
  const StoreServer server(listen_on({"127.0.0.1", 0}), run_secret, limits);
  StoreClient client({"127.0.0.1", server.port()}, run_secret, 5s);
  CHECK_NOTHROW(client.set("key", std::string(500, 'x')));
  CHECK_THROWS(client.set("more", std::string(600, 'x')));
}

TEST_CASE("secret file: only for the user's own eyes, and neither short nor endless") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "secret";
  CHECK_THROWS_WITH(read_secret_file(file), ContainsSubstring("cannot read the secret file"));
  std::ofstream(file) << "0123456789abcdef0123";
  std::filesystem::permissions(file, std::filesystem::perms(0644));
  CHECK_THROWS_WITH(read_secret_file(file), ContainsSubstring("chmod 600"));
  std::filesystem::permissions(file, std::filesystem::perms(0600));
  CHECK(read_secret_file(file) == "0123456789abcdef0123");
  std::ofstream(file) << "short";
  CHECK_THROWS_WITH(read_secret_file(file), ContainsSubstring("too short"));
  std::ofstream(file) << std::string(1 << 20,
                                     'x');  // would fill the pipe to a rank, and the launcher would hang
  CHECK_THROWS_WITH(read_secret_file(file), ContainsSubstring("too long"));
}

TEST_CASE("addresses: a name that is this machine itself is recognised") {
  CHECK(is_loopback({"127.0.0.1", 1}));
  CHECK(is_loopback({"127.0.1.1", 1}));
  CHECK(is_loopback({"::1", 1}));
  CHECK(is_loopback({"localhost", 1}));
  CHECK_FALSE(is_loopback({"10.0.0.1", 1}));
  CHECK_FALSE(is_loopback_in_disguise({"localhost", 1}));
  CHECK_FALSE(is_loopback_in_disguise({"127.0.0.1", 1}));
  CHECK(is_loopback_in_disguise({"2130706433", 1}));  // 127.0.0.1 as one number: any name may hide it
  CHECK_THROWS_WITH(is_loopback({"no such host.invalid", 1}), ContainsSubstring("no such host"));
}

TEST_CASE("meeting place: what one process announces another finds") {
  const MeetingPlace place("test-" + std::to_string(getpid()));
  CHECK_FALSE(place.find());
  place.announce({{"127.0.0.1", 1234}, std::string("a\nsecret\0", 9)});
  const auto found = MeetingPlace("test-" + std::to_string(getpid())).find();
  REQUIRE(found);
  CHECK(found->address.port == 1234);
  CHECK(found->secret == std::string("a\nsecret\0", 9));
  place.remove();
}
