// LibTorch's own profiler (Kineto) over a few steps, data and evaluation between them included. The trace
// opens in chrome://tracing and in Perfetto.
#include <torch/csrc/autograd/profiler_kineto.h>

#include <cstdlib>

#include "components/hooks/hook.hpp"
#include "components/hooks/support/operator_times.hpp"
#include "registry/log.hpp"

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

class ProfilerHook : public Hook {
 public:
  ProfilerHook(const Profiler& params, torch::Device device) : params_(params), device_(device) {}
  ~ProfilerHook() override {
    try {
      if (running_) torch::autograd::profiler::disableProfiler();
    } catch (const std::exception& error) {
      log::error("The profiler cannot be ended: {}", error.what());
    }
  }

  void start(const Progress&, const std::filesystem::path& folder, Requests&) override {
    trace_ = folder / "trace.json";
    if (steps_ >= params_.skip && steps_ < params_.skip + params_.steps)
      begin();  // or goes on, after a resume
  }

  void after_step(const Progress&, Requests& requests) override {
    ++steps_;
    if (running_ && steps_ == params_.skip + params_.steps) end(requests);
    if (steps_ == params_.skip) begin();
  }

  void finish(const Progress&, Requests& requests) override {
    if (running_) {
      end(requests);
    } else if (steps_ < params_.skip) {
      log::warning("The profiler saw nothing: the run ended after {} steps, and it begins after {}.", steps_,
                   params_.skip);
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
    const ProfilerConfig config(ProfilerState::KINETO, params_.shapes);
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
    const auto rows = static_cast<std::size_t>(params_.rows);
    requests.note(
        {"profiler", operator_table(operator_times(result->events()), rows) + "trace: " + trace_.string()});
  }

  Profiler params_;
  torch::Device device_;
  std::filesystem::path trace_;
  std::int64_t steps_ = 0;
  bool running_ = false;
};

HookFacts facts(const Profiler&) { return {.saves_models = false}; }

std::unique_ptr<Hook> build(const Profiler& params, const HookInputs& in) {
  ::setenv("KINETO_LOG_LEVEL", "6", /*overwrite=*/0);  // else it tells on stderr that it begins and ends
  return std::make_unique<ProfilerHook>(params, in.device);
}

const Registration<HookKind> registration{
    "profiler",
    "Profiles a few steps: trace.json for chrome://tracing, and a table of the slowest operators.", &build};

}  // namespace
}  // namespace runner
