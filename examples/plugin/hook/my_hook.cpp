// A hook of your own: ends the run once a measurement is low enough.
#include <algorithm>

#include "components/hooks/hook.hpp"

namespace {

using namespace runner;

struct MyHook {
  std::string metric = "eval/loss";
  double below = 0.1;
};

constexpr auto describe(std::type_identity<MyHook>) {
  return fields(field("metric", &MyHook::metric, "What is looked at after every evaluation.", non_empty()),
                field("below", &MyHook::below, "The run ends once it is below this.", required()));
}

class MyHookStop final : public Hook {
 public:
  explicit MyHookStop(MyHook params) : params_(std::move(params)) {}

  void after_eval(const Progress&, const Measurements& measured, Requests& requests) override {
    for (const auto& [name, value] : measured) {
      if (name != params_.metric || value >= params_.below) continue;
      requests.stop(name + " is " + std::to_string(value) + ", below " + std::to_string(params_.below));
    }
  }

 private:
  MyHook params_;
};

std::unique_ptr<Hook> build(const MyHook& params, const HookInputs& inputs) {
  // A name that nothing measures would make the hook wait in vain.
  if (!inputs.metrics.empty() && std::ranges::find(inputs.metrics, params.metric) == inputs.metrics.end())
    throw std::runtime_error("hook \"my_hook\" looks at \"" + params.metric + "\", which nothing measures");
  return std::make_unique<MyHookStop>(params);
}

const Registration<HookKind> registration{"my_hook", "Ends the run once a measurement is low enough.",
                                          &build};

}  // namespace
