#include <torch/utils.h>

#include <catch2/catch_all.hpp>

#include "components/hooks/hook.hpp"
#include "registry/base/log.hpp"
#include "tests/support/parts.hpp"
#include "tests/support/small_model.hpp"

namespace runner {
namespace {

using Catch::Matchers::ContainsSubstring;
using testing::part;
using testing::Setting;
using testing::Settings;
using testing::SmallModel;

using Quiet = log::Silence;

std::unique_ptr<Hook> freeze(const Settings& settings, const SmallModel& model) {
  HookInputs in;
  in.weights = &model.weights;
  return part<HookKind>("freeze", settings).build(in);
}

Progress at(std::int64_t step) {
  Progress progress;
  progress.step = step;
  progress.exact_epoch = static_cast<double>(step) / 4;
  return progress;
}

// What it asks for, as "step pattern on|off".
std::vector<std::string> asked(Hook& hook, int steps) {
  const Quiet quiet;
  std::vector<std::string> all;
  Requests requests;
  const auto take = [&](int step) {
    for (const auto& [pattern, trained, holder] : requests.take_trainability())
      all.push_back(std::to_string(step) + " " + pattern + (trained ? " on" : " off"));
  };
  hook.start(at(0), {}, requests);
  take(0);
  for (int step = 1; step <= steps; ++step) {
    hook.after_step(at(step), requests);
    take(step);
  }
  return all;
}

using Asked = std::vector<std::string>;

TEST_CASE("freeze begins and ends at its times, and asks once") {
  const SmallModel model({1});
  const Setting match = Setting::list({"weight", "b*"});
  CHECK(asked(*freeze({{"match", match}}, model), 9) == Asked{"0 weight off", "0 b* off"});
  CHECK(asked(*freeze({{"match", match}, {"until", "1ep"}}, model), 9) ==
        Asked{"0 weight off", "0 b* off", "4 weight on", "4 b* on"});
  CHECK(asked(*freeze({{"match", Setting::list({"bias"})}, {"from", "2step"}, {"until", "2ep"}}, model), 9) ==
        Asked{"2 bias off", "8 bias on"});
  CHECK(asked(*freeze({{"match", match}, {"from", "10step"}}, model), 9).empty());
}

TEST_CASE("freeze refuses what it could not do") {
  SmallModel model({1});
  CHECK_THROWS_WITH(freeze({{"match", Setting::list({"wieght"})}}, model),
                    ContainsSubstring("did you mean \"weight\"?"));
  CHECK_THROWS_WITH(
      freeze({{"match", Setting::list({"weight"})}, {"from", "5step"}, {"until", "5step"}}, model),
      ContainsSubstring("not later"));
  model.weight.set_requires_grad(false);
  CHECK_THROWS_WITH(freeze({{"match", Setting::list({"weight"})}}, model), ContainsSubstring("model.freeze"));
}

}  // namespace
}  // namespace runner
