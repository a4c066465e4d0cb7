// Freezes parameters temporarily; those that model.freeze names are never trained. Frozen batch-norm layers
// still update their running statistics.
#include <stdexcept>

#include "components/contract/interval.hpp"
#include "components/contract/pattern.hpp"
#include "components/hooks/hook.hpp"
#include "registry/base/log.hpp"
#include "registry/base/wording.hpp"

namespace runner {
namespace {

struct Freeze {
  std::vector<std::string> match;
  Duration from = steps(0);
  std::optional<Duration> until;
};
constexpr auto describe(std::type_identity<Freeze>) {
  return fields(field("match", &Freeze::match, "The parameters, by pattern: [\"layer1.*\", \"*.bias\"].",
                      required(), non_empty()),
                field("from", &Freeze::from, "When they are frozen.", at_least(0)),
                field("until", &Freeze::until, "When they are trained again; default: never.", above(0)));
}

void check(const Freeze& settings, Report& report) {
  if (settings.until && settings.until->unit == settings.from.unit &&
      settings.until->amount <= settings.from.amount)
    report.error("until", "is not later than \"from\"");
}

class FreezeHook : public Hook {
 public:
  explicit FreezeHook(Freeze settings)
      : settings_(std::move(settings)),
        holder_("freeze from " + to_string(settings_.from) +
                (settings_.until ? " until " + to_string(*settings_.until) : "")) {}

  void start(const Progress& progress, const std::filesystem::path&, Requests& requests) override {
    follow(progress, requests);
  }
  void after_step(const Progress& progress, Requests& requests) override { follow(progress, requests); }

 private:
  void follow(const Progress& progress, Requests& requests) {
    const bool over = settings_.until && reached(*settings_.until, progress);
    const bool frozen = reached(settings_.from, progress) && !over;
    if (std::exchange(frozen_, frozen) == frozen) return;
    std::string names;
    for (const std::string& pattern : settings_.match) {
      requests.train_parameters(pattern, !frozen, holder_);
      names += " " + pattern;
    }
    log::info("step {}: {}{}", progress.step, frozen ? "frozen:" : "trained again:", names);
  }

  Freeze settings_;
  std::string holder_;  // other hooks may freeze the same parameters at other times
  bool frozen_ = false;
};

HookFacts facts(const Freeze&) { return {.saves_models = false, .keeps_state = false}; }

std::unique_ptr<Hook> build(const Freeze& settings, const HookInputs& inputs) {
  const std::vector<std::string> names = inputs.weights->parameter_names();
  for (const std::string& pattern : settings.match) {
    bool some = false, trained = false;
    for (const std::string& name : names) {
      if (!selects(pattern, name)) continue;
      some = true;
      trained = trained || inputs.weights->trained(name);
    }
    if (!some) throw std::runtime_error(nothing_selected("Hook \"freeze\", match", pattern, names));
    if (!trained) {
      throw std::runtime_error("Hook \"freeze\": model.freeze keeps all that " + in_quotes(pattern) +
                               " matches frozen for the whole run. Delete one of the two.");
    }
  }
  return std::make_unique<FreezeHook>(settings);
}

const Registration<HookKind> registration{
    "freeze", "Freezes parameters for a part of the run: at its start, or from a given time on.", &build};

}  // namespace
}  // namespace runner
