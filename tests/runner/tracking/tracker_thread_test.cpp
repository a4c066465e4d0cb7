#include "runner/tracking/tracker_thread.hpp"

#include <catch2/catch_all.hpp>

#include <condition_variable>
#include <stdexcept>

#include "registry/log.hpp"

namespace runner {
namespace {

using Catch::Matchers::ContainsSubstring;

// What a tracker was told, readable by the test thread once the tracker thread has finished.
struct Seen {
  std::vector<std::int64_t> steps;
  std::vector<std::string> texts;
  std::string order;
  std::thread::id thread;
};

struct Recorder : Tracker {
  explicit Recorder(Seen& seen_) : seen(seen_) {}
  void start(const RunFacts& facts) override { seen.order += "start " + facts.name; }
  void log(const Record& record) override {
    seen.steps.push_back(record.step);
    seen.thread = std::this_thread::get_id();
  }
  void text(std::string_view tag, std::string_view text, std::int64_t) override {
    seen.texts.push_back(std::string(tag) + "=" + std::string(text));
  }
  void finish(Outcome outcome) override {
    constexpr const char* words[] = {", finished", ", stopped", ", failed"};
    seen.order += words[static_cast<int>(outcome)];
  }
  Seen& seen;
};

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

// Holds the background thread until it is let go.
struct Gate : Recorder {
  using Recorder::Recorder;
  void log(const Record& record) override {
    std::unique_lock lock(mutex);
    arrived = true;
    changed.notify_all();
    changed.wait(lock, [&] { return open; });
    Recorder::log(record);
  }
  void wait_until_held() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return arrived; });
  }
  void let_go() {
    const std::lock_guard lock(mutex);
    open = true;
    changed.notify_all();
  }
  std::mutex mutex;
  std::condition_variable changed;
  bool arrived = false;
  bool open = false;
};

std::vector<NamedTracker> list(const char* name, std::unique_ptr<Tracker> tracker, bool essential = false) {
  std::vector<NamedTracker> trackers;
  trackers.push_back({name, std::move(tracker), essential});
  return trackers;
}

RunFacts facts(std::string name = "x") { return {std::move(name), {}, {}, {}}; }

Record at(std::int64_t step) { return {step, 0, 0, {{"train/loss", 1.0}}}; }

// The warnings of one test, with nothing printed.
struct Quiet {
  log::Silence silence;
  Quiet() { log::clear_warnings(); }
};

TEST_CASE("every record reaches every tracker, in order, on a thread of its own") {
  Quiet quiet;  // the queue is small on purpose
  Seen first, second;
  auto trackers = list("a", std::make_unique<Recorder>(first), true);
  trackers.push_back({"b", std::make_unique<Recorder>(second)});
  {
    TrackerThread thread(std::move(trackers), facts("cifar"), 16);
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

TEST_CASE("a run that throws still finishes its trackers, as failed") {
  Seen seen;
  try {
    TrackerThread thread(list("a", std::make_unique<Recorder>(seen)), facts());
    thread.log(at(1));
    throw std::runtime_error("the loop broke");
  } catch (const std::runtime_error&) {
  }
  CHECK(seen.steps == std::vector<std::int64_t>{1});
  CHECK(seen.order == "start x, failed");
}

TEST_CASE("a tracker that throws is switched off with one warning; the others go on") {
  Quiet quiet;
  Seen broken, good;
  auto trackers = list("mlflow", std::make_unique<Broken>(broken));
  trackers.push_back({"csv", std::make_unique<Recorder>(good)});
  TrackerThread thread(std::move(trackers), facts());
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
  Quiet quiet;
  Seen broken, other;
  auto trackers = list("jsonl", std::make_unique<Broken>(broken), true);
  trackers.push_back({"csv", std::make_unique<Recorder>(other)});

  SECTION("at a record") {
    TrackerThread thread(std::move(trackers), facts(), 1);
    const auto train = [&] {
      for (int step = 1; step <= 100; ++step) thread.log(at(step));
    };
    CHECK_THROWS_WITH(train(),
                      ContainsSubstring("\"jsonl\"") && ContainsSubstring("No space left on device."));
    CHECK_NOTHROW(thread.finish(Outcome::finished));  // told already
    CHECK(other.order == "start x, failed");
  }
  SECTION("at the end, where the last record is the one") {
    TrackerThread thread(std::move(trackers), facts());
    for (int step = 1; step <= 3; ++step) thread.log(at(step));
    CHECK_THROWS_WITH(thread.finish(Outcome::finished), ContainsSubstring("No space left on device."));
    CHECK(other.steps.size() == 3);
  }
  SECTION("at the start, before any training") {
    Seen seen;
    CHECK_THROWS_WITH(TrackerThread(list("jsonl", std::make_unique<BrokenStart>(seen), true), facts()),
                      "Cannot write metrics.jsonl.");
  }
}

TEST_CASE("a tracker that cannot start is a warning, unless it is essential") {
  Quiet quiet;
  Seen seen;
  TrackerThread thread(list("mlflow", std::make_unique<BrokenStart>(seen)), facts());
  thread.log(at(1));
  thread.finish(Outcome::finished);
  CHECK(seen.steps.empty());
  CHECK(log::warnings().size() == 1);
}

TEST_CASE("training is not held up while there is room, and nothing is lost when there is not") {
  Quiet quiet;
  Seen seen;
  auto made = std::make_unique<Gate>(seen);
  Gate& gate = *made;
  TrackerThread thread(list("slow", std::move(made)), facts(), 4);
  thread.log(at(0));
  gate.wait_until_held();                                      // the tracker is stuck in its first record ..
  for (int step = 1; step <= 4; ++step) thread.log(at(step));  // .. and these return all the same
  CHECK(log::warnings().empty());
  std::thread opener([&] {
    while (log::warnings().empty())
      std::this_thread::yield();  // the next one finds the queue full and says so
    gate.let_go();
  });
  thread.log(at(5));
  opener.join();
  thread.finish(Outcome::finished);
  CHECK(seen.steps == std::vector<std::int64_t>{0, 1, 2, 3, 4, 5});
  CHECK_THAT(log::warnings()[0], ContainsSubstring("waits"));
}

TEST_CASE("logging after the end is a mistake that is not swallowed") {
  TrackerThread thread({}, facts());
  thread.finish(Outcome::finished);
  CHECK_THROWS_AS(thread.log(at(1)), std::logic_error);
}

}  // namespace
}  // namespace runner
