#include <catch2/catch_all.hpp>

#include "components/hooks/hook.hpp"
#include "tests/support/parts.hpp"

namespace runner {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinRel;
using testing::part;
using testing::Settings;

struct Found {
  std::vector<double> rates;
  std::optional<std::string> reason;
  Note note;
};

void take_step(Hook& hook, double loss, Requests& requests) {
  hook.before_update({}, loss, 0, requests);
  hook.after_step({}, requests);
}

// Gradient descent on curvature / 2 * w^2, which diverges for rates above 2 / curvature.
Found descend(const Settings& settings, double curvature, double start = 1) {
  auto hook = part<HookKind>("lr_finder", settings).build({});
  Found found;
  Requests requests;
  double w = start;
  for (int step = 0; step < 100'000 && !requests.stop_reason(); ++step) {
    CHECK(hook->wants_gradients({}));
    take_step(*hook, curvature / 2 * w * w, requests);
    const auto rate = requests.take_learning_rate();
    if (requests.take_skip()) continue;
    REQUIRE(rate);
    found.rates.push_back(*rate);
    w -= *rate * curvature * w;
  }
  found.reason = requests.stop_reason();
  hook->finish({}, requests);
  const auto notes = requests.take_notes();
  REQUIRE(notes.size() == 1);
  found.note = notes[0];
  return found;
}

double suggestion(const Found& found) {
  const std::string& text = found.note.text;
  const std::string before = "Suggested learning rate: ";
  REQUIRE(text.starts_with(before));
  return std::stod(text.substr(before.size()));
}

TEST_CASE("lr_finder suggests a rate at which a quadratic is learned fast and does not diverge") {
  const double curvature = GENERATE(0.5, 10.0, 300.0);
  const Found found = descend({{"lowest", 1e-6}, {"highest", 100.0}, {"steps", 200}}, curvature);
  CHECK(suggestion(found) < 2 / curvature);
  CHECK(suggestion(found) > 0.01 / curvature);
  CHECK(found.reason);
  CHECK(found.rates.back() > 2 / curvature);  // it went on until it was too much
  CHECK(found.rates.size() < 199);            // and no further
}

TEST_CASE("lr_finder raises the rate exponentially from the lowest to the highest") {
  const Found found = descend({{"lowest", 1e-6}, {"highest", 1e-2}, {"steps", 41}}, 1);
  REQUIRE(found.rates.size() == 41);
  CHECK_THAT(found.rates.front(), WithinRel(1e-6, 1e-9));
  for (std::size_t i = 1; i < found.rates.size(); ++i)
    CHECK_THAT(found.rates[i] / found.rates[i - 1], WithinRel(std::pow(10, 0.1), 1e-9));
  REQUIRE(found.note.curve.size() == 41);
  CHECK_THAT(found.note.curve.back().first, WithinRel(-2.0, 1e-9));
  CHECK_THAT(*found.reason, ContainsSubstring("lr_finder has finished"));
  CHECK_THAT(found.note.text, ContainsSubstring("Suggested learning rate"));
}

TEST_CASE("lr_finder says where no rate helps, and ends at a loss that is not a number") {
  auto hook = part<HookKind>("lr_finder").build({});
  Requests requests;
  for (int i = 0; i < 30; ++i) take_step(*hook, 1 + 0.01 * i, requests);
  CHECK_FALSE(requests.stop_reason());
  hook->before_update({}, NAN, 0, requests);
  CHECK_FALSE(requests.stop_reason());  // a run that stops before an update that is not finite has failed
  hook->after_step({}, requests);
  CHECK(requests.stop_reason());
  CHECK(requests.take_skip());
  hook->finish({}, requests);
  CHECK_THAT(requests.take_notes().at(0).text, ContainsSubstring("No rate in this range"));
}

TEST_CASE("lr_finder ends at a gradient that is not a number, unless the precision skips such updates") {
  const bool skips = GENERATE(false, true);
  auto hook = part<HookKind>("lr_finder").build({.precision_skips = skips});
  Requests requests;
  for (int i = 0; i < 30; ++i) take_step(*hook, 1 + 0.01 * i, requests);
  hook->before_update({}, 1, NAN, requests);
  hook->after_step({}, requests);
  CHECK(requests.take_skip() == !skips);
  CHECK(requests.stop_reason().has_value() == !skips);
}

TEST_CASE("lr_finder shows thousands of points without those at which the loss explodes") {
  auto hook = part<HookKind>("lr_finder", {{"steps", 10'000}, {"smoothing", 0.0}}).build({});
  Requests requests;
  for (int i = 0; i < 10'000; ++i)
    take_step(*hook, i < 6000 ? 2.3 - 0.3 * i / 6000 : 2 + 0.001 * (i - 6000), requests);
  REQUIRE(requests.stop_reason());
  hook->finish({}, requests);
  const auto notes = requests.take_notes();
  REQUIRE(notes.size() == 1);
  CHECK(std::abs(static_cast<int>(notes[0].curve.size()) - 6600) <= 2);  // up to a loss of 2.6
}

TEST_CASE("lr_finder that has finished ends a run that goes on at once") {
  const Settings settings{{"steps", 10}, {"lowest", 1e-4}, {"highest", 1e-2}};
  auto hook = part<HookKind>("lr_finder", settings).build({}),
       resumed = part<HookKind>("lr_finder", settings).build({});
  Requests requests, later;
  for (int i = 0; i < 10; ++i) take_step(*hook, 1 - 0.01 * i, requests);
  REQUIRE(requests.stop_reason());
  resumed->load(hook->save());
  take_step(*resumed, 0.9, later);
  CHECK(later.stop_reason());
  CHECK(later.take_skip());
  CHECK_FALSE(later.take_learning_rate());  // beyond the highest
}

TEST_CASE("lr_finder refuses a run that is shorter than it, and an empty range") {
  Requests requests;
  Progress progress;
  progress.total_steps = 99;
  CHECK_THROWS_WITH(part<HookKind>("lr_finder").build({})->start(progress, {}, requests),
                    ContainsSubstring("needs 100 steps, and the run has 99"));
  CHECK_THROWS_WITH((part<HookKind>("lr_finder", {{"lowest", 1.0}, {"highest", 0.1}})),
                    ContainsSubstring("not above"));
}

}  // namespace
}  // namespace runner
