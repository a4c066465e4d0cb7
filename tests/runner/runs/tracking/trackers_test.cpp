#include "runner/runs/tracking/trackers.hpp"

#include <catch2/catch_all.hpp>
#include <chrono>
#include <future>
#include <stdexcept>

#include "tests/support/recorded_trackers.hpp"

namespace runner {
namespace {

using namespace testing::trackers;
using Catch::Matchers::ContainsSubstring;

// Throws at the third record, or in the named function.
struct Broken : Recorder {
  using Recorder::Recorder;
  void log(const Record& record) override {
    if (record.step == 3) throw std::runtime_error("No space left on device.");
    Recorder::log(record);
  }
};

struct BrokenStart : Recorder {
  using Recorder::Recorder;
  void start(const RunFacts&) override { throw std::runtime_error("Cannot write metrics.jsonl."); }
};

TEST_CASE("every record reaches every tracker, in order, on a thread of its own") {
  Case run("cifar");
  Quiet quiet;  // the queue is small on purpose
  Seen first, second;
  auto trackers = list("a", std::make_unique<Recorder>(first), true);
  trackers.push_back({"b", std::make_unique<Recorder>(second)});
  {
    Trackers thread(std::move(trackers), run.facts, {.in_memory = 16});
    thread.start();
    for (int step = 0; step < 5000; ++step) thread.log(at(step));
    thread.text("note", "hello", 7);
    thread.finish(Outcome::stopped);
    thread.finish(Outcome::failed);  // too late to change anything
  }
  for (const Seen* seen : {&first, &second}) {
    REQUIRE(seen->steps.size() == 5000);
    CHECK(std::ranges::is_sorted(seen->steps));
    CHECK(seen->texts == std::vector<std::string>{"note=hello"});
    CHECK(seen->order == "start cifar, stopped");
    CHECK(seen->thread != std::this_thread::get_id());
  }
}

TEST_CASE("names that every record has already are refused, and nothing is written") {
  const std::string name = GENERATE("step", "epoch", "time");
  const auto refused = ContainsSubstring("\"train/" + name + "\"");
  Case run;
  Seen seen;
  Trackers thread(list("a", std::make_unique<Recorder>(seen)), run.facts);
  thread.start();
  CHECK_THROWS_WITH(thread.log({1, 0, 0, {{"train/loss", 1}, {name, 2}}}), refused);
  CHECK_THROWS_WITH(thread.text(name, "text", 1), refused);
  CHECK_THROWS_WITH(thread.image(name, {"png", 1, 1}, 1), refused);
  CHECK_THROWS_WITH(thread.histogram(name, {}, 1), refused);
  thread.log({2, 0, 0, {{"train/" + name, 2}}});
  thread.finish(Outcome::finished);
  CHECK(seen.steps == std::vector<std::int64_t>{2});
  CHECK(seen.texts.empty());
}

TEST_CASE("a run that throws still finishes its trackers, as failed") {
  Case run;
  Seen seen;
  try {
    Trackers thread(list("a", std::make_unique<Recorder>(seen)), run.facts);
    thread.start();
    thread.log(at(1));
    throw std::runtime_error("the loop broke");
  } catch (const std::runtime_error&) {
  }
  CHECK(seen.steps == std::vector<std::int64_t>{1});
  CHECK(seen.order == "start x, failed");
}

TEST_CASE("a tracker that throws is switched off with one warning; the others go on") {
  Case run;
  Quiet quiet;
  Seen broken, good;
  auto trackers = list("mlflow", std::make_unique<Broken>(broken));
  trackers.push_back({"csv", std::make_unique<Recorder>(good)});
  Trackers thread(std::move(trackers), run.facts);
  thread.start();
  for (int step = 1; step <= 6; ++step) thread.log(at(step));
  thread.finish(Outcome::finished);
  CHECK(broken.steps == std::vector<std::int64_t>{1, 2});
  CHECK(broken.order == "start x");  // not even finished: it is gone
  CHECK(good.steps.size() == 6);
  REQUIRE(log::warnings().size() == 1);
  CHECK_THAT(log::warnings()[0],
             ContainsSubstring("\"mlflow\"") && ContainsSubstring("No space left on device."));
}

TEST_CASE("an essential tracker that fails stops the run at the next record, or at the end") {
  Case run;
  Quiet quiet;
  Seen broken, other;
  auto trackers = list("jsonl", std::make_unique<Broken>(broken), true);
  trackers.push_back({"csv", std::make_unique<Recorder>(other)});

  SECTION("at a record") {
    Trackers thread(std::move(trackers), run.facts, {.in_memory = 1});
    thread.start();
    const auto train = [&] {
      for (int step = 1; step <= 100; ++step) thread.log(at(step));
    };
    CHECK_THROWS_WITH(train(),
                      ContainsSubstring("\"jsonl\"") && ContainsSubstring("No space left on device."));
    CHECK_NOTHROW(thread.finish(Outcome::finished));  // told already
    CHECK(other.order == "start x, failed: metrics cannot be written");
  }
  SECTION("at the end, where the last record is the one") {
    Trackers thread(std::move(trackers), run.facts);
    thread.start();
    for (int step = 1; step <= 3; ++step) thread.log(at(step));
    CHECK_THROWS_WITH(thread.finish(Outcome::finished), ContainsSubstring("No space left on device."));
    CHECK(other.steps.size() == 3);
  }
  SECTION("at the start, before any training") {
    Seen seen;
    Trackers thread(list("jsonl", std::make_unique<BrokenStart>(seen), true), run.facts);
    CHECK_THROWS_WITH(thread.start(), "Cannot write metrics.jsonl.");
  }
}

TEST_CASE("a tracker that cannot start is a warning, unless it is essential") {
  Case run;
  Quiet quiet;
  Seen seen;
  Trackers thread(list("mlflow", std::make_unique<BrokenStart>(seen)), run.facts);
  thread.start();
  thread.log(at(1));
  thread.finish(Outcome::finished);
  CHECK(seen.steps.empty());
  CHECK(log::warnings().size() == 1);
}

TEST_CASE("metrics.jsonl alone may hold training up, and says so; nothing is lost") {
  Case run;
  Quiet quiet;
  Seen seen;
  auto made = std::make_unique<Gate>(seen);
  Gate& gate = *made;
  Trackers thread(list("jsonl", std::move(made), true), run.facts, {.in_memory = 4});
  thread.start();
  thread.log(at(0));
  gate.wait_until_held();                                      // the tracker is stuck in its first record ..
  for (int step = 1; step <= 4; ++step) thread.log(at(step));  // .. and these return all the same
  std::thread opener([&] { gate.let_go(); });
  thread.log(at(5));
  opener.join();
  thread.finish(Outcome::finished);
  CHECK(seen.steps == std::vector<std::int64_t>{0, 1, 2, 3, 4, 5});
}

TEST_CASE("a tracker that is stuck holds up neither training nor the others: what it misses waits on disk") {
  Case run;
  Seen stuck, quick;
  auto made = std::make_unique<Gate>(stuck);
  Gate& gate = *made;
  auto trackers = list("jsonl", std::make_unique<Recorder>(quick), true);
  trackers.push_back({"slow", std::move(made)});
  Trackers thread(std::move(trackers), run.facts, {.in_memory = 4});
  thread.start();
  thread.log(at(0));
  gate.wait_until_held();
  for (int step = 1; step < 3000; ++step) thread.log(at(step));
  thread.text("note", "\xff any bytes", 3000);
  CHECK(std::filesystem::file_size(run.folder / "tracking/slow.spool") > 3000 * 20);
  thread.save();  // as a checkpoint does
  CHECK(Spool(run.folder / "tracking/slow.spool").size() == 3001);
  gate.let_go();
  thread.flush();
  thread.finish(Outcome::finished);
  CHECK(std::filesystem::file_size(run.folder / "tracking/slow.spool") == 0);
  for (const Seen* seen : {&stuck, &quick}) {
    REQUIRE(seen->steps.size() == 3000);
    CHECK(std::ranges::is_sorted(seen->steps));
    CHECK(seen->texts == std::vector<std::string>{"note=\xff any bytes"});
  }
}

TEST_CASE("a checkpoint waits for an essential tracker, however slow the disk is") {
  Case run;
  Quiet quiet;
  Seen seen;
  auto made = std::make_unique<Gate>(seen);
  Gate& gate = *made;
  Trackers thread(list("jsonl", std::move(made), true), run.facts, {.essential_flush = 0.001});
  thread.start();
  thread.log(at(1));
  auto saved = std::async(std::launch::async, [&] {
    thread.save();
    return seen.steps.size();
  });
  while (log::warnings().empty()) std::this_thread::yield();
  CHECK_THAT(log::warnings().front(), ContainsSubstring("jsonl"));
  // It would have returned by now if it did not wait; if the machine is slow, this only finds less.
  CHECK(saved.wait_for(std::chrono::milliseconds(50)) == std::future_status::timeout);
  gate.let_go();
  CHECK(saved.get() == 1);
  CHECK(log::warnings().size() == 1);
  thread.finish(Outcome::finished);
}

// Its output ends after as many records as it was told.
struct Placed : Gate {
  Placed(Seen& seen_, std::optional<std::int64_t>& place_) : Gate(seen_), given(place_) { open = true; }
  void start(const RunFacts& facts) override {
    const auto found = facts.place.integers.find("records");
    if (found != facts.place.integers.end()) given = found->second;
    Gate::start(facts);
  }
  State place() const override {
    return {.integers = {{"records", static_cast<std::int64_t>(seen.steps.size())}}};
  }
  std::optional<std::int64_t>& given;
};

TEST_CASE("a resumed run gives each tracker back where its output ended when the checkpoint was taken") {
  const bool essential = GENERATE(false, true);
  Case run;
  Seen before, after;
  std::optional<std::int64_t> nothing, given;
  State checkpoint;
  {
    Trackers trackers(list("csv", std::make_unique<Placed>(before, nothing), essential), run.facts);
    trackers.start();
    for (const std::int64_t step : {1, 2, 2}) trackers.log(at(step));
    checkpoint = trackers.save();
    trackers.log(at(2));
    trackers.finish(Outcome::failed);
  }
  CHECK_FALSE(nothing);
  const auto resume = [&](std::int64_t step) {
    given.reset();
    Trackers trackers(list("csv", std::make_unique<Placed>(after, given), essential), run.facts);
    trackers.load(checkpoint);
    trackers.start(step);
    trackers.finish(Outcome::finished);
  };
  resume(2);
  CHECK(given == 3);
  checkpoint = {};  // of another run, or of an earlier version
  resume(2);
  CHECK_FALSE(given);
}

TEST_CASE("a tracker that has fallen behind has no place in a checkpoint") {
  Case run;
  Seen seen;
  std::optional<std::int64_t> nothing;
  auto made = std::make_unique<Placed>(seen, nothing);
  made->open = false;
  Gate& gate = *made;
  Trackers trackers(list("csv", std::move(made)), run.facts, {.other_flush = 0.001});
  trackers.start();
  trackers.log(at(1));
  gate.wait_until_held();
  CHECK(trackers.save().parts.empty());
  gate.let_go();
  trackers.finish(Outcome::finished);
}

TEST_CASE("what waits on disk since a checkpoint is logged once, also if it has the step of the checkpoint") {
  const bool place_is_known = GENERATE(true, false);
  Case run;
  RunFacts facts = run.facts;
  facts.resumed_at = 7;
  if (place_is_known) facts.place.integers["records"] = 1;
  Spool spool(run.folder / "csv.spool");
  const auto text = std::make_shared<const Item>(TextItem{"tag", "text", 7});
  spool.append({&text, 1});
  spool.cut(facts);
  CHECK(spool.size() == (place_is_known ? 0 : 1));
  CHECK(Spool(run.folder / "csv.spool").size() == spool.size());
  spool.append({&text, 1});  // it can be used as before
  CHECK(spool.front(1).size() == 1);
}

TEST_CASE("a checkpoint does not wait for a tracker that is stuck: what was logged before it is on disk") {
  Case run;
  Seen seen;
  auto made = std::make_unique<Gate>(seen);
  Gate& gate = *made;
  Trackers thread(list("csv", std::move(made)), run.facts, {.other_flush = 0.001});
  thread.start();
  thread.log(at(1));
  gate.wait_until_held();
  for (int checkpoint = 2; checkpoint <= 4; ++checkpoint) {
    thread.log(at(checkpoint));
    thread.save();
    CHECK(Spool(run.folder / "tracking/csv.spool").size() == static_cast<std::size_t>(checkpoint));
  }
  gate.let_go();
  thread.finish(Outcome::finished);
  CHECK(seen.steps == std::vector<std::int64_t>{1, 2, 3, 4});  // each once
  CHECK(Spool(run.folder / "tracking/csv.spool").size() == 0);
}

}  // namespace
}  // namespace runner
