#include <cmath>

#include "components/hooks/hook.hpp"
#include "registry/base/log.hpp"

namespace runner {
namespace {

enum class Action { stop, skip };
constexpr auto describe(std::type_identity<Action>) {
  return choices(choice("stop", Action::stop, "the run fails, with the weights of the previous step"),
                 choice("skip", Action::skip, "the update is skipped, and the run continues"));
}

struct NanGuard {
  Action action = Action::stop;
  std::int64_t limit = 10;
};
constexpr auto describe(std::type_identity<NanGuard>) {
  return fields(
      field("action", &NanGuard::action, "What to do when the loss or a gradient is not a finite number."),
      field("limit", &NanGuard::limit,
            "With \"skip\": the run fails after this many skipped updates in a row.", at_least(1)));
}

class NanGuardHook : public Hook {
 public:
  NanGuardHook(NanGuard settings, bool gradients_may_overflow)
      : settings_(settings), gradients_may_overflow_(gradients_may_overflow) {}

  bool wants_gradients(const Progress&) const override { return true; }

  void before_update(const Progress& progress, double loss, double gradient_norm,
                     Requests& requests) override {
    const bool bad_gradient = !gradients_may_overflow_ && !std::isfinite(gradient_norm);
    if (std::isfinite(loss) && !bad_gradient) {
      skipped_ = 0;
      return;
    }
    requests.skip_update();  // also before a stop, so that the weights of the previous step are saved
    ++skipped_;
    const double value = std::isfinite(loss) ? gradient_norm : loss;
    const std::string what =
        log::format("the {} is {} in step {}", std::isfinite(loss) ? "gradient norm" : "loss",
                    std::isnan(value) ? "not a number" : "infinite", progress.step + 1);
    if (settings_.action == Action::stop) {
      requests.stop(what + "; a lower learning rate, train.clip_norm or another precision may help");
    } else if (skipped_ >= settings_.limit) {
      requests.stop(log::format("{}, and {} updates in a row had to be skipped", what, skipped_));
    } else if (skipped_ == 1) {
      log::warning("{}: the update is skipped", what);
    }
  }

  State save() const override { return {.integers = {{"skipped", skipped_}}}; }
  void load(const State& state) override {
    StateReader saved(state);
    skipped_ = saved.integer("skipped");
    saved.finish();
  }

 private:
  NanGuard settings_;
  bool gradients_may_overflow_;
  std::int64_t skipped_ = 0;  // in a row
};

HookFacts facts(const NanGuard&) { return {.saves_models = false}; }

std::unique_ptr<Hook> build(const NanGuard& settings, const HookInputs& inputs) {
  return std::make_unique<NanGuardHook>(settings, inputs.precision_skips);
}

const Registration<HookKind> registration{
    "nan_guard", "Keeps a loss or gradient that is not a finite number away from the weights.", &build};

}  // namespace
}  // namespace runner
