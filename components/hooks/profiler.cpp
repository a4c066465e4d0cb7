// Runs LibTorch's own profiler (Kineto) for a few steps, including data loading and evaluations between them.
// The trace can be opened in chrome://tracing and in Perfetto.
#include <torch/csrc/autograd/profiler_kineto.h>

#include <algorithm>
#include <cstdlib>
#include <iomanip>
#include <map>
#include <numeric>
#include <set>
#include <sstream>
#include <tuple>

#include "components/hooks/hook.hpp"
#include "registry/base/log.hpp"

namespace runner {
namespace {

struct Profiler {
  std::int64_t skip = 10;
  std::int64_t steps = 3;
  std::int64_t rows = 15;
  bool shapes = false;
};
constexpr auto describe(std::type_identity<Profiler>) {
  return fields(field("skip", &Profiler::skip, "Steps before the profile; the first ones are not typical.",
                      at_least(0)),
                field("steps", &Profiler::steps, "Steps that are profiled.", at_least(1)),
                field("rows", &Profiler::rows, "Operators in the table, the slowest first.", at_least(1)),
                field("shapes", &Profiler::shapes, "Note the shapes that operators work on."));
}

struct OperatorTime {
  std::string name;
  std::int64_t calls = 0;
  double self = 0;   // milliseconds, without the operators it called
  double total = 0;  // with them
};

using torch::autograd::profiler::KinetoEvent;

// One thread, or one stream of a device: its events are disjoint or nested.
using Lane = std::tuple<c10::DeviceType, int, std::uint64_t>;

Lane lane_of(const KinetoEvent& event) {
  const bool cpu = event.deviceType() == c10::DeviceType::CPU;
  return {event.deviceType(), event.deviceIndex(),
          cpu ? event.startThreadId() : static_cast<std::uint64_t>(event.deviceResourceId())};
}

double milliseconds(std::uint64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e6; }

// An operator's self time is its duration without the operators that it calls.
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
    if (!again) time.total += milliseconds(event->durationNs());  // only once if it calls itself
    open.push_back(event);
  }
}

// The operators, in descending order of self time.
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

class ProfilerHook : public Hook {
 public:
  ProfilerHook(const Profiler& settings, torch::Device device) : settings_(settings), device_(device) {}
  ~ProfilerHook() override {
    try {
      if (running_) torch::autograd::profiler::disableProfiler();
    } catch (const std::exception& error) {
      log::error("The profiler could not be stopped: {}", error.what());
    }
  }

  void start(const Progress&, const std::filesystem::path& folder, Requests&) override {
    trace_ = folder / "trace.json";
    if (steps_ >= settings_.skip && steps_ < settings_.skip + settings_.steps)
      begin();  // at the start, or after a resume within the profiled steps
  }

  void after_step(const Progress&, Requests& requests) override {
    ++steps_;
    if (running_ && steps_ == settings_.skip + settings_.steps) end(requests);
    if (steps_ == settings_.skip) begin();
  }

  void finish(const Progress&, Requests& requests) override {
    if (running_) {
      end(requests);
    } else if (steps_ < settings_.skip) {
      log::warning("The profiler recorded nothing: the run ended after {} steps, and it starts after {}.",
                   steps_, settings_.skip);
    }
  }

  State save() const override { return {.integers = {{"steps", steps_}}}; }
  void load(const State& state) override {
    StateReader saved(state);
    steps_ = saved.integer("steps");
    saved.finish();
  }

 private:
  void begin() {
    using namespace torch::profiler::impl;
    const ProfilerConfig config(ProfilerState::KINETO, settings_.shapes);
    std::set<ActivityType> activities{ActivityType::CPU};
    if (device_.is_cuda()) activities.insert(ActivityType::CUDA);
    torch::autograd::profiler::prepareProfiler(config, activities);
    torch::autograd::profiler::enableProfiler(config, activities, {at::RecordScope::FUNCTION});
    running_ = true;
  }

  void end(Requests& requests) {
    running_ = false;
    const auto result = torch::autograd::profiler::disableProfiler();
    result->save(trace_.string());
    const auto rows = static_cast<std::size_t>(settings_.rows);
    requests.note(
        {"profiler", operator_table(operator_times(result->events()), rows) + "trace: " + trace_.string()});
  }

  Profiler settings_;
  torch::Device device_;
  std::filesystem::path trace_;
  std::int64_t steps_ = 0;
  bool running_ = false;
};

HookFacts facts(const Profiler&) { return {.saves_models = false}; }

std::unique_ptr<Hook> build(const Profiler& settings, const HookInputs& inputs) {
  ::setenv("KINETO_LOG_LEVEL", "6", /*overwrite=*/0);  // otherwise it prints its start and end on stderr
  return std::make_unique<ProfilerHook>(settings, inputs.device);
}

const Registration<HookKind> registration{
    "profiler",
    "Profiles a few steps: trace.json for chrome://tracing, and a table of the slowest operators.", &build};

}  // namespace
}  // namespace runner
