#include "runner/checkpoint/checkpoint_policy.hpp"

#include <catch2/catch_all.hpp>
#include <cmath>

#include "runner/recipe/recipe.hpp"

using namespace runner;

namespace {

// A run of 100 steps, ten to an epoch, half a minute each.
Progress place_at(std::int64_t step) {
  Progress place;
  place.step = place.examples = step;
  place.exact_epoch = static_cast<double>(step) / 10;
  place.epoch = step / 10;
  place.seconds = 30.0 * static_cast<double>(step);
  place.share = static_cast<double>(step) / 100;
  return place;
}

Duration duration(const std::string& text) { return std::get<Duration>(parse_duration(text)); }

void save(CheckpointPolicy& policy, const Progress& place, double waited = 0, double writing = 0) {
  policy.begun(place, waited);
  policy.written(writing);
}

struct Saved {
  std::vector<std::int64_t> steps, kept;
};

// Where a run saves, and what of it is kept for good.
Saved saved_by(CheckpointPolicy policy, std::int64_t from = 0, std::int64_t until = 40) {
  Saved saved;
  for (std::int64_t step = from + 1; step <= until; ++step) {
    if (!policy.due(place_at(step - 1), place_at(step)) && !policy.due_by_clock(place_at(step))) continue;
    saved.steps.push_back(step);
    if (policy.keeps(place_at(step))) saved.kept.push_back(step);
    save(policy, place_at(step));
  }
  return saved;
}

using Steps = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("checkpoint policy: every so many steps, epochs or minutes", "[checkpoint]") {
  CHECK(saved_by(CheckpointPolicy({.every = "15step"})).steps == Steps{15, 30});
  CHECK(saved_by(CheckpointPolicy({.every = "1ep"})).steps == Steps{10, 20, 30, 40});
  CHECK(saved_by(CheckpointPolicy({.every = "5min"})).steps == Steps{10, 20, 30, 40});
  CHECK(saved_by(CheckpointPolicy({.every = "0.2run"})).steps == Steps{20, 40});
  CHECK(saved_by(CheckpointPolicy({.every = "never"})).steps.empty());
}

TEST_CASE("checkpoint policy: keep_every saves at its multiples and keeps those", "[checkpoint]") {
  const std::string unit = GENERATE("20step", "2ep", "10min", "0.2run");
  CAPTURE(unit);
  const Saved saved = saved_by(CheckpointPolicy({.every = "15step", .keep_every = duration(unit)}));
  CHECK(saved.steps == Steps{15, 20, 30, 40});
  CHECK(saved.kept == Steps{20, 40});
  // Also where "auto" would save at other steps.
  const Saved automatic = saved_by(CheckpointPolicy({.every = "auto", .keep_every = duration(unit)}));
  CHECK(automatic.kept == Steps{20, 40});
}

TEST_CASE("checkpoint policy: the first checkpoint after a multiple of keep_every is kept", "[checkpoint]") {
  CheckpointPolicy policy({.every = "never", .keep_every = duration("10step")});
  CHECK_FALSE(policy.keeps(place_at(9)));
  save(policy, place_at(9));          // on request
  CHECK(policy.keeps(place_at(13)));  // 10 lies before it
  policy.begun(place_at(13), 0);
  policy.failed();
  CHECK(policy.keeps(place_at(13)));  // there is none yet
  save(policy, place_at(13));
  CHECK_FALSE(policy.keeps(place_at(14)));
}

TEST_CASE("checkpoint policy: after resuming, intervals count from the restored place", "[checkpoint]") {
  CheckpointPolicy policy({.every = "auto", .keep_every = duration("20step")});
  save(policy, place_at(0), 1.5);  // at most every 50 s, so every second step
  CheckpointPolicy fresh = policy;
  policy.resumed(place_at(30), 1);
  CHECK_FALSE(policy.due_by_clock(place_at(31)));
  CHECK(fresh.due_by_clock(place_at(31)));  // as if nothing had been saved since the start of the run
  CHECK(policy.due_by_clock(place_at(32)));
  CHECK_FALSE(policy.keeps(place_at(32)));  // 20 was passed before the restored place
}

TEST_CASE("checkpoint policy: auto keeps what saving costs to 3 % of the time", "[checkpoint]") {
  CheckpointPolicy policy({.every = "auto"});
  const auto place = [](double seconds) {
    Progress progress;
    progress.seconds = seconds;
    return progress;
  };
  CHECK_FALSE(policy.due_by_clock(place(0.9)));
  CHECK(policy.due_by_clock(place(1)));  // nothing is known of the cost yet
  save(policy, place(10), 0.6);
  CHECK_FALSE(policy.due_by_clock(place(29.9)));
  CHECK(policy.due_by_clock(place(30.1)));  // 0.6 s of 20
  save(policy, place(10), 0.6, 1.2);        // in the background, which costs about half of it
  CHECK_FALSE(policy.due_by_clock(place(49.9)));
  CHECK(policy.due_by_clock(place(50.1)));
  save(policy, place(51), 0.3);  // of the newest one alone
  CHECK(policy.due_by_clock(place(61.1)));
}

TEST_CASE("checkpoint policy: auto waits until the one before it is written", "[checkpoint]") {
  CheckpointPolicy policy({.every = "auto"});
  Progress now;
  now.seconds = 10;
  policy.begun(now, 0.1);
  now.seconds = 1000;
  CHECK_FALSE(policy.due_by_clock(now));  // what it costs is not known yet
  policy.written(100);
  CHECK_FALSE(policy.due_by_clock(now));
  now.seconds = 10 + 50.1 / 0.03 + 0.1;
  CHECK(policy.due_by_clock(now));
  policy.begun(now, 0.1);
  policy.failed();
  CHECK(policy.due_by_clock(now));
}

TEST_CASE("checkpoint policy: auto saves more often in a run that is new or restarts often", "[checkpoint]") {
  const auto interval = [](double seconds, std::int64_t restarts, double cost = 0) {
    CheckpointPolicy policy({.every = "auto"});
    Progress now;
    now.seconds = seconds;
    policy.resumed(now, restarts);
    save(policy, now, cost);
    while (!policy.due_by_clock(now)) now.seconds += 0.125;
    return std::floor(now.seconds - seconds);
  };
  CHECK(interval(0, 0) == 1);
  CHECK(interval(60, 0) == 2);
  CHECK(interval(3600, 0) == 10);
  CHECK(interval(3600, 9) == 10);
  CHECK(interval(3600, 39) == 3);
  CHECK(interval(3600, 1000) == 1);
  CHECK(interval(3600, 1000, 0.12) == 4);  // still not more than 3 % of the time
}

TEST_CASE("checkpoint policy: training waits for all of a write that is not in the background",
          "[checkpoint]") {
  CheckpointPolicy policy({.every = "auto", .async = false});
  save(policy, {}, 0, 1.2);
  Progress now;
  now.seconds = 39.9;
  CHECK_FALSE(policy.due_by_clock(now));
  now.seconds = 40.1;
  CHECK(policy.due_by_clock(now));
}

TEST_CASE("checkpoint policy: at the end, after a signal and after an exception", "[checkpoint]") {
  const CheckpointPolicy usual({}), neither({.at_end = false, .on_exception = false}),
      never({.every = "never"});
  CHECK(usual.at_end(false));
  CHECK(usual.on_exception());
  CHECK_FALSE(neither.at_end(false));
  CHECK_FALSE(neither.on_exception());
  CHECK_FALSE(never.at_end(false));
  CHECK_FALSE(never.on_exception());
  CHECK(never.disabled());
  for (const auto* policy : {&usual, &neither, &never}) CHECK(policy->at_end(/*interrupted=*/true));
}
