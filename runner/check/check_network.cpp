#include <chrono>

#include "registry/base/log.hpp"
#include "runner/check/checks.hpp"
#include "runner/ranks/store_client.hpp"
#include "runner/ranks/store_protocol.hpp"
#include "runner/ranks/store_server.hpp"

namespace runner {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto loopback = "127.0.0.1";

bool can_listen(const Address& address) {
  try {
    listen_on(address);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

// Whether the other side introduces itself as the store of a run.
bool greets(const FileDescriptor& socket) {
  const auto deadline = Clock::now() + 2s;
  std::string received;
  while (received.size() < store::greeting.size() && receive_some(socket, received, deadline)) {
  }
  return received.starts_with(store::greeting);
}

}  // namespace

Finding check_loopback() {
  Finding finding{"loopback"};
  try {
    const std::string secret = store::random_bytes(store::nonce_bytes);
    const StoreServer server(listen_on({loopback, 0}), secret);
    const auto client = c10::make_intrusive<StoreClient>(Address{loopback, server.port()}, secret, 5s);
    client->set("asked", "answered");
    finding.detail = log::format("the store of a run answers at {}:{}", loopback, server.port());
    if (client->get_to_str("asked") != "answered") throw std::runtime_error("the store gives a wrong answer");
  } catch (const std::exception& error) {
    finding.verdict = Finding::Verdict::problem;
    finding.detail = error.what();
    finding.remedy = "ranks of one machine connect on 127.0.0.1: allow it in the firewall or sandbox";
  }
  return finding;
}

Finding check_rendezvous(const Address& address) {
  Finding finding{"rendezvous"};
  const std::string at = to_string(address);
  try {
    if (is_loopback_in_disguise(address)) {
      finding.verdict = Finding::Verdict::problem;
      finding.detail = log::format(
          "{} is a loopback address on this machine, which other machines cannot reach", address.host);
      finding.remedy =
          "give an IP address of machine 0, as `ip addr` shows them there, or correct /etc/hosts";
      return finding;
    }
    const std::string own = own_address_towards(address);
    if (can_listen(address)) {
      finding.detail =
          log::format("machine 0 can listen on {} here{}", at,
                      is_loopback(address) ? "; only processes of this machine can reach it" : "");
      return finding;
    }
    const FileDescriptor socket = connect_to(address, Clock::now() + 3s);
    if (socket && greets(socket)) {
      finding.detail = log::format("the store of a run answers at {}; it sees this machine as {}", at, own);
      if (!is_loopback(address))
        finding.detail +=
            ". Only this port was tried: ranks connect to each other on other ports, chosen by "
            "the system, so a firewall between the machines has to pass all ports above 1024";
      return finding;
    }
    finding.verdict = Finding::Verdict::problem;
    if (socket) {
      finding.detail = log::format("the program that answers at {} is not the store of a run", at);
      finding.remedy = "the port is in use: choose another one; `ss -ltnp` shows by which program";
    } else {
      finding.detail =
          log::format("nothing answers at {}, and this machine ({}) cannot listen there", at, own);
      finding.remedy =
          "start `runner launch --node-rank 0 ..` there first; if it is running, open the port in its "
          "firewall";
    }
  } catch (const std::exception& error) {
    finding.verdict = Finding::Verdict::problem;
    finding.detail = error.what();
    finding.remedy = "give --rendezvous an address of machine 0 that every machine can reach";
  }
  return finding;
}

}  // namespace runner
