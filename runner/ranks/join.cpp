#include "runner/ranks/join.hpp"

#include <unistd.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <atomic>
#include <csignal>
#include <thread>

#include "components/torch/torch_error.hpp"
#include "registry/base/log.hpp"
#include "runner/ranks/meeting_place.hpp"
#include "runner/ranks/presence.hpp"
#include "runner/ranks/process_group_world.hpp"
#include "runner/ranks/rank_gpu.hpp"
#include "runner/ranks/store_client.hpp"
#include "runner/ranks/store_protocol.hpp"
#include "runner/ranks/store_server.hpp"

namespace runner {

namespace {

using Launcher = Membership::Launcher;
using StorePointer = c10::intrusive_ptr<c10d::Store>;
constexpr auto loopback = "127.0.0.1";

// The only rank of a launcher: it exchanges nothing with other ranks, but reports to the launcher where the
// run folder is, how far training is, and why it failed.
class SingleRankWorld final : public World {
 public:
  SingleRankWorld(const StorePointer& store, const Place& place, std::chrono::milliseconds timeout)
      : World(place), store_(store), presence_(store, place, timeout) {}

  void reached(std::int64_t step) override { presence_.reached(step); }
  void failed(const std::exception& error) override { presence_.failed(reason_of(error), false); }
  void tell_folder(const std::string& folder) override { store_->set(folder_key, folder); }

 private:
  const StorePointer store_;
  Presence presence_;
};

std::string read_secret(const Membership& member) {
  if (member.secret_file) return read_secret_file(*member.secret_file);
  if (!member.secret_descriptor)
    throw std::runtime_error(log::format("The ranks share no secret: neither {} nor {} is set.",
                                         variable::secret_file, variable::secret_descriptor));
  static std::atomic_flag read_before;  // afterwards the number may be that of another file
  if (read_before.test_and_set())
    throw std::runtime_error(
        "This process has joined the other ranks already: use the World that launch() passes to the "
        "function, "
        "as in Accelerator(world).");
  const FileDescriptor pipe(*member.secret_descriptor);
  std::string secret;
  char buffer[256];
  for (ssize_t count = 0; (count = read(pipe.number(), buffer, sizeof buffer)) > 0;)
    secret.append(buffer, static_cast<std::size_t>(count));
  if (secret.empty()) throw std::runtime_error("The launcher passed no secret.");
  return secret;
}

// While the store does not answer, c10d would print stack traces.
void wait_for_store(const Address& address, std::chrono::milliseconds timeout) {
  constexpr std::chrono::milliseconds pause{50};
  const Deadline deadline = std::chrono::steady_clock::now() + timeout;
  std::string problem = "nothing answers there";
  do {
    try {
      if (connect_to(address, deadline)) return;
    } catch (const std::exception& unknown_host) {  // perhaps not yet known
      problem = unknown_host.what();
    }
    std::this_thread::sleep_for(pause);
  } while (std::chrono::steady_clock::now() < deadline);
  throw RankError(log::format("{}, for {} s (distributed.timeout).", problem,
                              static_cast<double>(timeout.count()) / 1000));
}

RankError cannot_meet(const Membership& member, const std::exception& error) {
  std::string reason = reason_of(error);
  if (!reason.ends_with('.')) reason += '.';
  return RankError(
      log::format("The ranks cannot meet at {} (MASTER_ADDR and MASTER_PORT): {} It must be an address of "
                  "rank 0's machine that every rank can reach, and a port that nothing else there uses.",
                  to_string(*member.meet), reason));
}

// Of torchrun, or as PyTorch's env:// has one. It knows no secret.
StorePointer torch_store(const Membership& member, const JoinOptions& options) {
  c10d::TCPStoreOptions store;
  store.port = static_cast<std::uint16_t>(member.meet->port);
  store.isServer = member.serves_store;
  store.numWorkers = member.place.size;
  store.timeout = options.timeout;
  try {
    if (!store.isServer) wait_for_store(*member.meet, options.timeout);
    return c10::make_intrusive<c10d::PrefixStore>(
        attempt_name(member.restart), c10::make_intrusive<c10d::TCPStore>(member.meet->host, store));
  } catch (const std::exception& error) {
    throw cannot_meet(member, error);
  }
}

// mpirun and srun only start processes: rank 0 serves the store.
StorePointer own_store(const Membership& member, const JoinOptions& options,
                       std::unique_ptr<StoreServer>& server) {
  if (member.meet) {
    const std::string secret = read_secret(member);
    try {
      if (member.place.rank == 0) {
        allow_many_descriptors();
        server = std::make_unique<StoreServer>(listen_on(*member.meet), secret);
      }
      return c10::make_intrusive<StoreClient>(*member.meet, secret, options.timeout);
    } catch (const StoreRefusal&) {
      throw;  // says more
    } catch (const std::exception& error) {
      throw cannot_meet(member, error);
    }
  }
  if (!member.on_one_machine())
    throw std::runtime_error(
        log::format("The ranks are on several machines and do not know where to meet. Set MASTER_ADDR and "
                    "MASTER_PORT to an address of rank 0's machine and a free port there, and {} to a file "
                    "with a secret that every rank can read (openssl rand -hex 32).",
                    variable::secret_file));
  const MeetingPlace place(member.job);
  if (member.place.rank == 0) {
    const std::string secret = store::random_bytes(store::nonce_bytes);
    FileDescriptor socket = listen_on({loopback, 0});
    const Address address{loopback, port_of(socket)};
    allow_many_descriptors();
    server = std::make_unique<StoreServer>(std::move(socket), secret);
    place.announce({address, secret});
    return c10::make_intrusive<StoreClient>(address, secret, options.timeout);
  }
  const auto deadline = std::chrono::steady_clock::now() + options.timeout;
  while (std::chrono::steady_clock::now() < deadline) {
    // A store that an earlier job of the same name announced does not answer.
    constexpr std::chrono::milliseconds to_connect{1000}, pause{20};
    try {
      if (const auto found = place.find()) {
        auto client = c10::make_intrusive<StoreClient>(found->address, found->secret, to_connect);
        client->setTimeout(options.timeout);
        return client;
      }
    } catch (const std::exception&) {
    }
    std::this_thread::sleep_for(pause);
  }
  throw RankError(log::format("Rank 0 did not start within {} s (distributed.timeout).",
                              static_cast<double>(options.timeout.count()) / 1000));
}

}  // namespace

JoinOptions join_options(const DistributedOptions& distributed, const std::string& device,
                         const Place& place) {
  return {timeout_of(distributed), distributed.check_collectives,
          rank_gpu(device, distributed.backend, place)};
}

std::unique_ptr<World> join_world(const std::optional<Membership>& member, const JoinOptions& options) {
  if (!member) return std::make_unique<World>();
  std::signal(SIGPIPE, SIG_IGN);  // a lost peer is reported as an error instead
  GroupOptions group{options.timeout, loopback, options.check_collectives, options.gpu};
  std::unique_ptr<StoreServer> server;
  StorePointer store;
  switch (member->launcher) {
    case Launcher::runner:
      store = c10::make_intrusive<StoreClient>(*member->meet, read_secret(*member), options.timeout,
                                               attempt_name(member->restart) + "/");
      break;
    case Launcher::torchrun: store = torch_store(*member, options); break;
    case Launcher::environment:
      store = member->secret_file ? own_store(*member, options, server) : torch_store(*member, options);
      break;
    default: store = own_store(*member, options, server);
  }
  if (member->place.size == 1)
    return std::make_unique<SingleRankWorld>(store, member->place, options.timeout);
  if (!member->on_one_machine()) group.own_address = own_address_towards(*member->meet);
  auto world = std::make_unique<ProcessGroupWorld>(store, member->place, group, std::move(server));
  const bool met_in_a_folder = !member->meet;
  if (met_in_a_folder && world->is_main()) MeetingPlace(member->job).remove();  // all have joined
  return world;
}

}  // namespace runner
