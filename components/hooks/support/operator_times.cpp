#include "components/hooks/support/operator_times.hpp"

#include <algorithm>
#include <iomanip>
#include <map>
#include <numeric>
#include <sstream>
#include <tuple>

namespace runner {

namespace {

using torch::autograd::profiler::KinetoEvent;

// Events of one thread, or of one device, lie side by side or inside one another.
using Lane = std::tuple<c10::DeviceType, int, std::uint64_t>;

Lane lane_of(const KinetoEvent& event) {
  const bool cpu = event.deviceType() == c10::DeviceType::CPU;
  return {event.deviceType(), event.deviceIndex(),
          cpu ? event.startThreadId() : static_cast<std::uint64_t>(event.deviceResourceId())};
}

double milliseconds(std::uint64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e6; }

// An operator's own time is what the operators that it calls leave of it.
void add_lane(std::vector<const KinetoEvent*>& events, std::map<std::string, OperatorTime>& times) {
  std::ranges::sort(events, [](const KinetoEvent* a, const KinetoEvent* b) {
    return std::pair(a->startNs(), b->endNs()) < std::pair(b->startNs(), a->endNs());  // the outer one first
  });
  std::vector<const KinetoEvent*> open;
  for (const KinetoEvent* event : events) {
    while (!open.empty() && open.back()->endNs() <= event->startNs()) open.pop_back();
    if (!open.empty()) times[open.back()->name()].self -= milliseconds(event->durationNs());
    const std::string name = event->name();
    const bool again = std::ranges::any_of(open, [&](const auto* outer) { return outer->name() == name; });
    OperatorTime& time = times[name];
    ++time.calls;
    time.self += milliseconds(event->durationNs());
    if (!again) time.total += milliseconds(event->durationNs());  // once, where it calls itself
    open.push_back(event);
  }
}

}  // namespace

std::vector<OperatorTime> operator_times(const std::vector<KinetoEvent>& events) {
  std::map<Lane, std::vector<const KinetoEvent*>> lanes;
  for (const KinetoEvent& event : events) {
    if (event.durationNs() > 0 && !event.isHiddenEvent()) lanes[lane_of(event)].push_back(&event);
  }
  std::map<std::string, OperatorTime> times;
  for (auto& [lane, members] : lanes) add_lane(members, times);
  std::vector<OperatorTime> list;
  for (auto& [name, time] : times) {
    list.push_back(std::move(time));
    list.back().name = name;
  }
  std::ranges::sort(list, std::greater{}, &OperatorTime::self);
  return list;
}

std::string operator_table(const std::vector<OperatorTime>& times, std::size_t rows) {
  const double all = std::accumulate(times.begin(), times.end(), 0.0,
                                     [](double sum, const OperatorTime& time) { return sum + time.self; });
  std::ostringstream out;
  out << std::fixed << std::setprecision(2);
  out << "   self ms   share   total ms   calls  operator\n";
  for (std::size_t i = 0; i < std::min(rows, times.size()); ++i) {
    const OperatorTime& time = times[i];
    out << std::setw(10) << time.self << std::setw(7) << std::setprecision(1) << 100 * time.self / all << "%"
        << std::setprecision(2) << std::setw(11) << time.total << std::setw(8) << time.calls << "  "
        << time.name << "\n";
  }
  return out.str();
}

}  // namespace runner
