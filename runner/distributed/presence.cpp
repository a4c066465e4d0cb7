#include "runner/distributed/presence.hpp"

#include <unistd.h>

#include <algorithm>

#include "registry/log.hpp"
#include "runner/distributed/store_client.hpp"

namespace runner {

namespace {

using Clock = std::chrono::steady_clock;
using State = Sighting::State;

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : "; ") + text;
  return all;
}

// Often enough to find out fast, seldom enough to cost nothing.
std::chrono::milliseconds interval_for(std::chrono::milliseconds timeout) {
  return std::clamp(timeout / 10, std::chrono::milliseconds(50), std::chrono::milliseconds(1000));
}

}  // namespace

Presence::Presence(const c10::intrusive_ptr<c10d::Store>& store, const Place& place,
                   std::chrono::milliseconds timeout)
    : store_(store),
      own_store_(store->clone()),
      place_(place),
      timeout_(timeout),
      interval_(interval_for(timeout)),
      last_new_(static_cast<std::size_t>(place.size), {-1, Clock::now()}) {
  own_.host = place.host;
  own_.process = getpid();
  own_.doing = "the start";
  if (auto* const client = dynamic_cast<StoreClient*>(own_store_.get()))
    client->leave_when_gone(gone_key(place.rank), "");
  publish();
  thread_ = std::jthread([this](const std::stop_token& stop) { beat(stop); });
}

Presence::~Presence() {
  thread_.request_stop();
  thread_.join();
  try {
    const std::scoped_lock lock(mutex_);
    if (own_.state == State::running) own_.state = State::left;
    publish();
  } catch (const std::exception&) {  // a store that is gone needs no goodbye
  }
}

void Presence::beat(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!woken_.wait_for(lock, stop, interval_, [] { return false; }) && !stop.stop_requested()) {
    try {
      publish();
    } catch (const std::exception&) {
      return;  // the store is gone; whoever trains finds out, and who it was
    }
  }
}

// With the mutex held, or before there is a second thread.
void Presence::publish() {
  ++own_.beat;
  own_store_->set(rank_key(place_.rank), to_text(own_));
}

void Presence::begins(std::string what) {
  const std::scoped_lock lock(mutex_);
  ++own_.collective;
  own_.doing = std::move(what);
}

void Presence::reached(std::int64_t step) {
  const std::scoped_lock lock(mutex_);
  own_.step = step;
}

void Presence::failed(const std::string& message, bool because_of_another) {
  const std::scoped_lock lock(mutex_);
  if (own_.state != State::running) return;
  own_.state = because_of_another ? State::misled : State::failed;
  own_.message = message;
  try {
    publish();
  } catch (const std::exception&) {  // nobody is left to tell
  }
}

void Presence::wait_for_all() {
  const auto deadline = Clock::now() + timeout_;
  std::vector<std::string> missing;
  do {
    missing.clear();
    for (int rank = 0; rank < place_.size; ++rank) {
      const bool there = store_->check({rank_key(rank)});
      if (!there) missing.push_back(std::to_string(rank));
      if (there && gone(rank)) throw RankError(who_failed());
    }
    if (missing.empty()) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  } while (Clock::now() < deadline);
  std::string list;
  for (const std::string& rank : missing) list += (list.empty() ? "" : ", ") + rank;
  throw RankError(log::format(
      "{} {} of {} did not start within {} s (distributed.timeout). Look for the reason in the output of {}.",
      missing.size() == 1 ? "Rank" : "Ranks", list, place_.size, static_cast<double>(timeout_.count()) / 1000,
      missing.size() == 1 ? "that process" : "those processes"));
}

std::optional<Sighting> Presence::seen(int rank) {
  if (!store_->check({rank_key(rank)})) return {};
  return parse_sighting(store_->get_to_str(rank_key(rank)));
}

bool Presence::gone(int rank) { return store_->check({gone_key(rank)}); }

std::string Presence::describe(int rank, const std::optional<Sighting>& sighting) const {
  if (!sighting) return log::format("rank {}", rank);
  return log::format("rank {} (host {}, process {})", rank, sighting->host, sighting->process);
}

std::string Presence::who_failed() {
  const auto where = [](const Sighting& s) { return log::format("at step {}, in {}", s.step, s.doing); };
  std::vector<std::optional<Sighting>> first;
  const auto began = Clock::now();
  while (true) {
    std::vector<std::string> failed, ended, left;
    std::vector<std::optional<Sighting>> now;
    for (int rank = 0; rank < place_.size; ++rank) {
      now.push_back(seen(rank));
      if (rank == place_.rank || !now.back()) continue;
      const Sighting& sighting = *now.back();
      const std::string name = describe(rank, now.back());
      if (sighting.state == State::failed)
        failed.push_back(log::format("{} failed {}: {}", name, where(sighting), sighting.message));
      if (sighting.state == State::left)
        left.push_back(log::format("{} has ended {}", name, where(sighting)));
      if (sighting.state == State::running && gone(rank))
        ended.push_back(log::format("{} has died without a word {}", name, where(sighting)));
    }
    if (first.empty()) first = now;
    if (!failed.empty()) return joined(failed);
    if (!ended.empty()) return joined(ended);
    // Whoever lives has shown it by now.
    if (Clock::now() - began > 3 * interval_) {
      std::vector<std::string> silent, late;
      const auto [own_collective, own_doing] = [&] {
        const std::scoped_lock lock(mutex_);
        return std::pair(own_.collective, own_.doing);
      }();
      for (int rank = 0; rank < place_.size; ++rank) {
        const auto index = static_cast<std::size_t>(rank);
        if (rank == place_.rank || !now[index] || now[index]->state != State::running) continue;
        const std::string name = describe(rank, now[index]);
        if (first[index] && now[index]->beat == first[index]->beat)
          silent.push_back(
              log::format("{} does not answer: frozen, or cut off; last seen {}", name, where(*now[index])));
        else if (now[index]->collective < own_collective || now[index]->doing != own_doing)
          late.push_back(log::format("{} runs, but is still {}", name, where(*now[index])));
      }
      if (!silent.empty()) return joined(silent);
      if (!left.empty()) return joined(left);
      if (!late.empty()) return joined(late);
      return "no rank shows why";
    }
    std::this_thread::sleep_for(interval_ / 4);
  }
}

std::optional<std::string> Presence::trouble_with(int rank) {
  const std::optional<Sighting> sighting = seen(rank);
  if (sighting && sighting->state == State::failed)
    return log::format("{} failed: {}", describe(rank, sighting), sighting->message);
  if ((sighting && sighting->state != State::running) || gone(rank))
    return log::format("{} has ended", describe(rank, sighting));
  auto& [beat, since] = last_new_[static_cast<std::size_t>(rank)];
  if (sighting && sighting->beat != beat) {
    beat = sighting->beat;
    since = Clock::now();
  }
  if (Clock::now() - since < timeout_) return {};
  return log::format("{} does not answer: frozen, or cut off", describe(rank, sighting));
}

}  // namespace runner
