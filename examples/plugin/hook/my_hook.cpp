// A hook of your own: ends the run once a metric is low enough.
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

// The metric it decides by: a recipe that names one which nothing reports is refused.
HookFacts facts(const MyHook& settings) {
  return {.watches = Watched{settings.metric, Better::min}, .saves_models = false};
}

class MyHookStop final : public Hook {
 public:
  explicit MyHookStop(MyHook settings) : settings_(std::move(settings)) {}

  void after_eval(const Progress&, const Measurements& measured, Requests& requests) override {
    for (const auto& [name, value] : measured) {
      if (name != settings_.metric || value >= settings_.below) continue;
      requests.stop(name + " is " + std::to_string(value) + ", below " + std::to_string(settings_.below));
    }
  }

 private:
  MyHook settings_;
};

std::unique_ptr<Hook> build(const MyHook& settings, const HookInputs&) {
  return std::make_unique<MyHookStop>(settings);
}

const Registration<HookKind> registration{"my_hook", "Ends the run once a metric is low enough.", &build};

}  // namespace
