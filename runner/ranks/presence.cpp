#include "runner/ranks/presence.hpp"

#include <unistd.h>

#include <algorithm>
#include <map>

#include "registry/base/log.hpp"
#include "registry/base/wording.hpp"
#include "runner/ranks/store_client.hpp"

namespace runner {

namespace {

using Clock = std::chrono::steady_clock;
using Phase = Sighting::Phase;

// Often enough to notice failures fast, rarely enough to cost nothing.
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
  if (auto* const client = dynamic_cast<StoreClient*>(own_store_.get()))
    client->leave_when_gone(gone_key(place.rank), "");
  publish();
  thread_ = std::jthread([this](const std::stop_token& stop) { beat(stop); });
}

Presence::~Presence() {
  thread_.request_stop();
  thread_.join();
  try {
    {
      const std::scoped_lock lock(mutex_);
      if (own_.phase == Phase::running) own_.phase = Phase::left;
    }
    publish();
  } catch (const std::exception&) {  // the store is gone
  }
}

void Presence::beat(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (true) {
    woken_.wait_for(lock, stop, interval_, [&] { return at_once_; });
    if (stop.stop_requested()) return;
    at_once_ = false;
    lock.unlock();
    try {
      publish();
      store_lost_ = false;
    } catch (const std::exception&) {
      store_lost_ = true;  // for now: the process that serves it may only be suspended
    }
    lock.lock();
  }
}

void Presence::publish() {
  const std::scoped_lock one_after_the_other(publishing_);  // an older text must not arrive after a newer one
  std::string text;
  {
    // Not locked during the request: the store may not answer, and training must not wait for it.
    const std::scoped_lock lock(mutex_);
    ++own_.beat;
    text = to_text(own_);
  }
  own_store_->set(rank_key(place_.rank), text);
}

void Presence::starts(std::string what) {
  const std::scoped_lock lock(mutex_);
  ++own_.collective;
  own_.exchange = std::move(what);
}

void Presence::reached(std::int64_t step) {
  const std::scoped_lock lock(mutex_);
  // The start of training and its first step are published at once: they end a restart.
  const bool news = own_.step == own_.first_step;
  if (own_.step < 0) own_.first_step = step;
  own_.step = step;
  if (!news) return;
  at_once_ = true;
  woken_.notify_one();
}

void Presence::failed(const std::string& message, bool because_of_another) {
  {
    const std::scoped_lock lock(mutex_);
    if (own_.phase != Phase::running) return;
    own_.phase = because_of_another ? Phase::stopped_by_another : Phase::failed;
    own_.message = message;
  }
  if (store_lost_) return;
  try {
    publish();
  } catch (const std::exception&) {  // there is no one left to notify
  }
}

void Presence::wait_for_all() {
  const auto deadline = Clock::now() + timeout_;
  std::vector<std::string> missing;
  do {
    missing.clear();
    for (int rank = 0; rank < place_.size; ++rank) {
      if (!store_->check({rank_key(rank)})) missing.push_back(std::to_string(rank));
      if (!gone(rank)) continue;
      const RankError error(who_failed());
      failed(error.what(), /*because_of_another=*/true);
      throw error;
    }
    if (missing.empty()) {
      rank_0_ = seen(0);
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  } while (Clock::now() < deadline);
  const RankError error(log::format(
      "{} {} of {} did not start within {} s (distributed.timeout); {}. The output of {} shows why.",
      missing.size() == 1 ? "Rank" : "Ranks", joined(missing), place_.size,
      static_cast<double>(timeout_.count()) / 1000, who_is_there(),
      missing.size() == 1 ? "that process" : "those processes"));
  failed(error.what(), /*because_of_another=*/true);
  throw error;
}

// "rank 0 (host a, process 12), rank 1 (host a, process 13) are there", which shows what machine is missing.
std::string Presence::who_is_there() {
  constexpr int most = 8;
  std::vector<std::string> there;
  int count = 0;
  for (int rank = 0; rank < place_.size; ++rank) {
    const std::optional<Sighting> sighting = seen(rank);
    if (!sighting || ++count > most) continue;
    there.push_back(describe(rank, sighting));
  }
  const std::string more = count > most ? log::format(" and {} more", count - most) : "";
  return (count == 1 ? "only " : "") + joined(there) + more + (count == 1 ? " is there" : " are there");
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
  try {
    if (!store_lost_) return who_failed_as_the_store_says();
  } catch (const std::exception&) {
  }
  if (place_.rank == 0)
    return "the run's store is gone: the process that started the ranks has ended or is suspended";
  return log::format(
      "{} and the run's store on its machine do not respond: the network between them and this rank (host "
      "{}) is down, or the process that started the ranks there has ended or is suspended",
      describe(0, rank_0_), place_.host);
}

std::string Presence::who_failed_as_the_store_says() {
  std::vector<std::optional<Sighting>> first;
  for (int rank = 0; rank < place_.size; ++rank) first.push_back(seen(rank));
  const auto asked_at = Clock::now();
  while (true) {
    const bool all_have_beaten = Clock::now() - asked_at > 3 * interval_;  // those that are alive
    std::map<Verdict, std::vector<std::string>> found;
    for (int rank = 0; rank < place_.size; ++rank) {
      if (rank == place_.rank) continue;
      const auto [verdict, text] = judge(rank, first[static_cast<std::size_t>(rank)]);
      found[verdict].push_back(text);
    }
    found.erase(Verdict::fine);
    const bool sure = all_have_beaten || (!found.empty() && found.rbegin()->first >= Verdict::died);
    if (sure) return found.empty() ? "the cause is unknown" : joined(found.rbegin()->second, "; ");
    std::this_thread::sleep_for(interval_ / 4);
  }
}

std::pair<Presence::Verdict, std::string> Presence::judge(int rank, const std::optional<Sighting>& before) {
  const std::optional<Sighting> seen_now = seen(rank);
  if (!seen_now) {
    if (!gone(rank) || seen(rank)) return {Verdict::fine, ""};  // it may have joined in the meantime
    return {Verdict::died, log::format("Rank {} of {} ended before it joined the others", rank, place_.size)};
  }
  return judge(rank, *seen_now, before);
}

std::pair<Presence::Verdict, std::string> Presence::judge(int rank, const Sighting& now,
                                                          const std::optional<Sighting>& before) {
  const std::string name = describe(rank, now);
  if (now.phase == Phase::failed)
    return {Verdict::failed, log::format("{} failed {}: {}", name, where(now), now.message)};
  if (now.phase == Phase::left) return {Verdict::left, log::format("{} has ended {}", name, where(now))};
  const Sighting own = [&] {
    const std::scoped_lock lock(mutex_);
    return own_;
  }();
  if (now.phase != Phase::running) {  // because of another, which may be this rank
    if (now.exchange == own.exchange) return {Verdict::fine, ""};
    return {Verdict::stopped, log::format("{} has stopped {}", name, where(now))};
  }
  if (gone(rank)) {
    // It may have published its reason since `now` was read.
    const std::optional<Sighting> last = seen(rank);
    if (last && last->phase != Phase::running) return judge(rank, *last, before);
    return {Verdict::died, log::format("{} died without an error message; last seen {}", name,
                                       where(at_least_at(own.step, now)))};
  }
  if (before && now.beat == before->beat)
    return {Verdict::silent, log::format("{} does not respond: frozen or disconnected; last seen {}", name,
                                         where(at_least_at(own.step, now)))};
  if (now.collective < own.collective || now.exchange != own.exchange)
    return {Verdict::late, log::format("{} is running, but still {}", name, where(now))};
  return {Verdict::fine, ""};
}

bool Presence::somebody_died() {
  try {
    for (int rank = 0; rank < place_.size; ++rank) {
      if (rank == place_.rank || !gone(rank)) continue;
      const std::optional<Sighting> last = seen(rank);
      if (!last || last->phase == Phase::running) return true;
    }
  } catch (const std::exception&) {
  }
  return false;
}

std::optional<std::string> Presence::trouble_with(int rank) {
  const std::optional<Sighting> sighting = seen(rank);
  if (sighting && sighting->phase == Phase::failed)
    return log::format("{} failed: {}", describe(rank, sighting), sighting->message);
  if (sighting && sighting->phase == Phase::stopped_by_another)
    return log::format("{} has stopped: {}", describe(rank, sighting), sighting->message);
  if ((sighting && sighting->phase != Phase::running) || gone(rank))
    return log::format("{} has ended", describe(rank, sighting));
  const std::scoped_lock lock(mutex_);
  auto& [beat, since] = last_new_[static_cast<std::size_t>(rank)];
  if (sighting && sighting->beat != beat) {
    beat = sighting->beat;
    since = Clock::now();
  }
  if (Clock::now() - since < timeout_) return {};
  return log::format("{} does not respond: frozen or disconnected", describe(rank, sighting));
}

}  // namespace runner
