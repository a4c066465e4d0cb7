#include "runner/ranks/launch/machines.hpp"

#include <poll.h>

#include <algorithm>
#include <sstream>

#include "registry/base/log.hpp"
#include "runner/ranks/sighting.hpp"
#include "runner/terminal/text.hpp"

namespace runner {

namespace {

constexpr int failed = 1;

std::string offer_key(int restart, int machine) {
  return log::format("{}/offer/{}", attempt_name(restart), machine);
}
std::string roster_key(int restart) { return attempt_name(restart) + "/roster"; }

// An offer, and the name of the launcher that makes it.
struct Announcement {
  Offer offer;
  std::string launcher = {};
};

std::string to_text(const Announcement& said) {
  return log::format("{} {} {}", said.offer.ranks, said.offer.most, said.launcher);
}

Announcement parse_announcement(const std::string& text) {
  Announcement said;
  std::istringstream in(text);
  in >> said.offer.ranks >> said.offer.most >> std::ws;
  std::getline(in, said.launcher);
  return said;
}

}  // namespace

Machines::Machines(const LaunchOptions& options, RunStore& store, LaunchSignals& signals)
    : options_(options),
      store_(store),
      signals_(signals),
      launchers_(static_cast<std::size_t>(options.nodes)) {}

Roster Machines::agree(int restart, const Offer& own) {
  Roster roster = options_.node == 0 ? decide_for_all(restart, own) : ask_machine_0(restart, own);
  if (roster.ranks.at(static_cast<std::size_t>(options_.node)) == 0)
    throw NoAttempt{failed, "the run continues without this machine"};
  return roster;
}

// At the start, other machines may be as late as ranks may. In a restart of an elastic run, machines that are
// gone have lost their connection, and the others only have to end their ranks.
std::chrono::milliseconds Machines::patience(int restart) const {
  constexpr std::chrono::milliseconds to_end_their_ranks{30000};
  const bool continues_without = restart > 0 && options_.fewest_ranks;
  return continues_without ? std::min(options_.timeout, to_end_their_ranks) : options_.timeout;
}

Roster Machines::decide_for_all(int restart, const Offer& own) {
  std::vector<std::optional<Offer>> offers(static_cast<std::size_t>(options_.nodes));
  offers[0] = own;
  const auto deadline = Clock::now() + patience(restart);
  while (true) {
    bool all = true;
    for (int machine = 1; machine < options_.nodes; ++machine) {
      const auto index = static_cast<std::size_t>(machine);
      const auto said = store_.get(offer_key(restart, machine));
      const bool has_left = restart > 0 && store_.has_left(launchers_[index]);
      all = all && (said || has_left);
      if (!said) continue;
      const Announcement announced = parse_announcement(*said);
      offers[index] = announced.offer;
      launchers_[index] = announced.launcher;
    }
    if (all || Clock::now() > deadline) break;
    pause();
  }
  const auto roster = decide(offers, {options_.fewest_ranks, options_.most_ranks, options_.power_of_two});
  if (!roster) throw too_few(restart, offers);
  store_.set(roster_key(restart), to_text(*roster));
  return *roster;
}

NoAttempt Machines::too_few(int restart, const std::vector<std::optional<Offer>>& offers) const {
  std::vector<std::string> missing;
  for (std::size_t machine = 0; machine < offers.size(); ++machine)
    if (!offers[machine]) missing.push_back(std::to_string(machine));
  const bool one = missing.size() == 1;
  const std::string who =
      log::format("{} {} of {}", one ? "machine" : "machines", joined(missing), options_.nodes);
  if (missing.empty()) return {failed, "all machines together have fewer ranks than --elastic asks for"};
  if (restart > 0)
    return {failed, log::format("{} did not come back: {} launcher has ended, or the network is down", who,
                                one ? "its" : "their")};
  return {failed,
          log::format("{} did not start within {} s (distributed.timeout). Start `runner launch --node-rank "
                      "{} ..` there, or see why it ended",
                      who, static_cast<double>(patience(restart).count()) / 1000, missing.front())};
}

// Waits for the decision of machine 0 as long as it answers.
Roster Machines::ask_machine_0(int restart, const Offer& own) {
  bool announced = false;
  for (auto last_seen = Clock::now(); Clock::now() < last_seen + patience(restart); pause()) {
    announced = announced || announce(restart, own);
    if (const auto roster = store_.get(roster_key(restart))) return parse_roster(*roster);
    if (store_.answers()) last_seen = Clock::now();
    if (!store_.refusal().empty()) throw NoAttempt{failed, store_.refusal()};
  }
  throw NoAttempt{failed, log::format("machine 0 does not respond at {}: the network to it is down, or its "
                                      "launcher has ended or was never started",
                                      to_string(store_.address()))};
}

// False if machine 0 does not answer.
bool Machines::announce(int restart, const Offer& own) {
  const std::string key = offer_key(restart, options_.node), text = to_text({own, store_.own_name()});
  const auto said = store_.set_if_missing(key, text);
  if (!said || *said == text) return said.has_value();
  const std::string other = parse_announcement(*said).launcher;
  if (!store_.has_left(other))
    throw NoAttempt{failed, log::format("machine {} has a launcher already ({}): give every machine a "
                                        "--node-rank of its own",
                                        options_.node, other)};
  store_.set(key, text);  // this launcher replaces the one that has left
  return true;
}

void Machines::pause() {
  constexpr int milliseconds = 100;
  pollfd event{signals_.descriptor(), POLLIN, 0};
  poll(&event, 1, milliseconds);
  for (int signal = signals_.next(); signal != 0; signal = signals_.next())
    if (signal != SIGCHLD) throw NoAttempt{128 + signal, ""};
}

}  // namespace runner
