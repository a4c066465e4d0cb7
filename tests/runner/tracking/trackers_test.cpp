#include "runner/tracking/trackers.hpp"

#include <catch2/catch_all.hpp>

#include <atomic>
#include <condition_variable>
#include <fstream>
#include <numeric>
#include <stdexcept>

#include "components/trackers/support/wall_clock.hpp"
#include "registry/log.hpp"
#include "runner/tracking/send_later.hpp"
#include "tests/support/temporary_folder.hpp"

namespace runner {
namespace {

using Catch::Matchers::ContainsSubstring;

// What a tracker was told, readable by the test thread once the tracker thread has finished.
struct Seen {
  std::vector<std::int64_t> steps;
  std::vector<std::string> texts;
  std::string order;
  double end = 0;
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
  void finish(const RunEnd& end) override {
    constexpr const char* words[] = {", finished", ", stopped", ", failed"};
    seen.order += words[static_cast<int>(end.outcome)];
    if (!end.message.empty()) seen.order += ": " + end.message;
    seen.end = end.wall_time;
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

std::vector<NamedTracker> list(const char* name, std::unique_ptr<Tracker> tracker, bool essential = false,
                               TrackerFacts facts = {}) {
  std::vector<NamedTracker> trackers;
  trackers.push_back({name, std::move(tracker), essential, facts});
  return trackers;
}

// Trackers in a run folder of their own.
struct Case {
  explicit Case(std::string name = "x") : facts{std::move(name), folder.path(), {}, {}} {}
  testing::TemporaryFolder folder;
  RunFacts facts;
};

constexpr TrackerFacts remote{.remote = true};
const TrackerPatience hasty{.between_sends = 0,
                            .first_retry = 0.001,
                            .longest_retry = 0.001,
                            .at_the_end = 60,
                            .outage_at_the_end = 0.05,
                            .in_memory = 4};

Record at(std::int64_t step) { return {step, 0, 0, {{"train/loss", 1.0}}}; }

// The warnings of one test, with nothing printed.
struct Quiet {
  log::Silence silence;
  Quiet() { log::clear_warnings(); }
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

// A server that may be away. Keeps what it was sent, and counts how often it was asked in vain.
struct Server {
  std::atomic<bool> up = true;
  std::atomic<int> asked_in_vain = 0;
  std::vector<std::int64_t> steps;
  std::string order;
  double end = 0;
};
struct Client : Tracker {
  explicit Client(Server& server_) : server(server_) {}
  void ask() const {
    if (server.up) return;
    ++server.asked_in_vain;
    throw TrackerUnavailable("No answer.");
  }
  State save() const override { return {.texts = {{"run", id}}}; }
  void load(const State& state) override { id = StateReader(state).text("run"); }
  void start(const RunFacts& facts) override {
    ask();
    if (id.empty()) id = facts.id;
    server.order += "start";
  }
  void log(const Record& record) override { waiting.push_back(record.step); }
  void flush() override {
    ask();
    server.steps.insert(server.steps.end(), waiting.begin(), waiting.end());
    waiting.clear();
  }
  void finish(const RunEnd& end) override {
    flush();
    server.order += end.outcome == Outcome::finished ? ", finished" : ", failed";
    server.end = end.wall_time;
  }
  Server& server;
  std::string id;
  std::vector<std::int64_t> waiting;
};

std::vector<std::int64_t> steps_to(std::int64_t last) {
  std::vector<std::int64_t> steps(static_cast<std::size_t>(last));
  std::iota(steps.begin(), steps.end(), 1);
  return steps;
}

TEST_CASE("a server that goes away and comes back misses nothing, and is told of once") {
  Case run;
  Quiet quiet;
  Server server;
  TrackerPatience patience = hasty;
  patience.at_the_end = patience.outage_at_the_end = 60;
  Trackers thread(list("mlflow", std::make_unique<Client>(server), false, remote), run.facts, patience);
  thread.start();
  for (int step = 1; step <= 50; ++step) thread.log(at(step));
  server.up = false;
  for (int step = 51; step <= 3000; ++step) thread.log(at(step));
  while (server.asked_in_vain < 3) std::this_thread::yield();
  server.up = true;
  for (int step = 3001; step <= 3050; ++step) thread.log(at(step));
  thread.finish(Outcome::finished);
  CHECK(server.steps == steps_to(3050));
  CHECK(server.order == "start, finished");
  CHECK(log::warnings().size() == 1);
}

TEST_CASE("what a server did not take is kept and sent later, the end included") {
  Case run;
  Quiet quiet;
  Server server;
  server.up = false;
  {
    Trackers thread(list("mlflow", std::make_unique<Client>(server), false, remote), run.facts, hasty);
    thread.start();
    for (int step = 1; step <= 20; ++step) thread.log(at(step));
    thread.finish(Outcome::finished);
  }
  const double ended_before = wall_clock();
  CHECK(server.order.empty());
  CHECK_THAT(log::warnings().back(), ContainsSubstring("runner track " + run.folder.path().string()));

  server.up = true;
  const auto again = [&] {
    return send_later(list("mlflow", std::make_unique<Client>(server), false, remote), run.facts);
  };
  const auto first = again();
  REQUIRE(first.size() == 1);
  CHECK(first[0].complete);
  CHECK_FALSE(first[0].nothing_to_do);
  CHECK(server.steps == steps_to(20));
  CHECK(server.order == "start, finished");
  CHECK(server.end > 0);
  CHECK(server.end <= ended_before);  // when the run ended, not when that was sent
  CHECK(again()[0].nothing_to_do);
  CHECK(server.steps == steps_to(20));
}

TEST_CASE("a killed run: what was logged is on disk, and is sent later as that of a failed run") {
  Case run;
  Server server;
  CHECK_THROWS_WITH(send_later({}, run.facts), ContainsSubstring("had no trackers"));
  {
    Spool left(run.folder / "tracking/mlflow.spool");  // as the killed process left it
    for (int step = 1; step <= 5; ++step) {
      Record record = at(step);
      record.wall_time = 1700000000.0 + step;
      left.append({std::array{std::make_shared<const Item>(record)}});
    }
  }
  std::ofstream(run.folder / "tracking/mlflow.spool", std::ios::app) << "torn";
  std::ofstream(run.folder / "run.json") << R"({"id": "abc", "started_at": 1.0})";
  send_later(list("mlflow", std::make_unique<Client>(server), false, remote), run.facts);
  CHECK(server.steps == steps_to(5));
  CHECK(server.order == "start, failed");
  CHECK(server.end == 1700000005);  // when it last logged something
}

TEST_CASE("a run that left a result but did not come to tell a tracker is reported as it ended") {
  Case run;
  Server server;
  {
    Spool left(run.folder / "tracking/mlflow.spool");
    left.append({std::array{std::make_shared<const Item>(at(1))}});
  }
  const RunEnd end{Outcome::finished, "", 1700000009};
  const bool told = GENERATE(false, true);  // the end may also wait in the spool
  if (told) {
    Spool left(run.folder / "tracking/mlflow.spool");
    left.append({std::array{std::make_shared<const Item>(RunEnd{Outcome::finished, "", 1700000008})}});
  }
  send_later(list("mlflow", std::make_unique<Client>(server), false, remote), run.facts, end);
  CHECK(server.steps == steps_to(1));
  CHECK(server.order == "start, finished");
  CHECK(server.end == (told ? 1700000008 : 1700000009));
}

TEST_CASE("a resumed run keeps its id, and what waits for a server only up to the checkpoint") {
  Case run;
  Quiet quiet;
  Server server;
  server.up = false;
  State checkpoint;
  std::string id;
  {
    Trackers thread(list("mlflow", std::make_unique<Client>(server), false, remote), run.facts, hasty);
    thread.start();
    for (int step = 1; step <= 20; ++step) thread.log(at(step));
    checkpoint = thread.save();
    id = thread.run_id();
    CHECK(id.size() == 32);
  }
  server.up = true;
  {
    Trackers thread(list("mlflow", std::make_unique<Client>(server), false, remote), run.facts, hasty);
    thread.load(checkpoint);
    thread.start(8);
    CHECK(thread.run_id() == id);
    for (int step = 9; step <= 12; ++step) thread.log(at(step));
    thread.finish(Outcome::finished);
    CHECK(thread.save().parts.at("mlflow").texts.at("run") == id);
  }
  CHECK(server.steps == steps_to(12));

  SECTION("in another folder the checkpoint says which run it is") {
    Case other;
    Trackers thread(list("mlflow", std::make_unique<Client>(server), false, remote), other.facts, hasty);
    thread.load(checkpoint);
    thread.start();
    CHECK(thread.run_id() == id);
  }
}

TEST_CASE("a slow server is not waited for longer than the call that is under way") {
  Case run;
  Quiet quiet;
  Seen seen;
  auto gate = std::make_unique<Gate>(seen);
  Gate& held = *gate;
  TrackerPatience none = hasty;
  none.at_the_end = 0;
  {
    TrackerWorker worker({"mlflow", std::move(gate), false, remote}, run.facts, run.folder / "tracking", {},
                         none);
    for (int step = 1; step <= 3; ++step) worker.put(std::make_shared<const Item>(at(step)));
    held.wait_until_held();
    CHECK(worker.end(std::make_shared<const Item>(RunEnd{})));
    held.let_go();
    worker.join();
  }
  CHECK(seen.steps == steps_to(1));
  CHECK(Spool(run.folder / "tracking/mlflow.spool").size() == 4);  // for `runner track`, with the end
  REQUIRE(log::warnings().size() == 1);
  CHECK_THAT(log::warnings()[0], ContainsSubstring("takes too long") && ContainsSubstring("runner track"));
}

TEST_CASE("the end of a run says which server it waits for") {
  Case run;
  Seen seen;
  auto gate = std::make_unique<Gate>(seen);
  Gate& held = *gate;
  TrackerPatience patience = hasty;
  patience.silent_end = 0;
  log::add_file(run.folder / "log.txt");
  const auto said = [&] { return testing::read_text(run.folder / "log.txt"); };
  {
    Trackers trackers(list("mlflow", std::move(gate), false, remote), run.facts, patience);
    trackers.start();
    trackers.log(at(1));
    held.wait_until_held();
    std::thread end([&] { trackers.finish(Outcome::finished); });
    const auto enough = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (said().find("Waiting for tracker") == std::string::npos &&
           std::chrono::steady_clock::now() < enough)
      std::this_thread::yield();
    held.let_go();
    end.join();
  }
  log::close_files();
  CHECK_THAT(said(), ContainsSubstring("Waiting for tracker \"mlflow\"") &&
                         ContainsSubstring("runner track " + run.folder.path().string()));
  CHECK(seen.steps == steps_to(1));
}

TEST_CASE("what an earlier process left in a bad state switches its tracker off, not the run") {
  Case run;
  Quiet quiet;
  Seen seen, other;
  std::filesystem::create_directories(run.folder / "tracking");
  std::ofstream(run.folder / "tracking/mlflow.json") << "half a li";
  auto trackers = list("jsonl", std::make_unique<Recorder>(seen), true);
  trackers.push_back({"mlflow", std::make_unique<Recorder>(other), false, remote});
  Trackers thread(std::move(trackers), run.facts, hasty);
  thread.start(8);
  thread.log(at(9));
  thread.finish(Outcome::finished);
  CHECK(seen.steps == std::vector<std::int64_t>{9});
  CHECK(other.order.empty());
  REQUIRE(log::warnings().size() == 1);
  CHECK_THAT(log::warnings()[0], ContainsSubstring("\"mlflow\"") && ContainsSubstring("mlflow.json"));
}

TEST_CASE("a run that is still running is not sent by another process") {
  Case run;
  Seen seen;
  Trackers thread(list("csv", std::make_unique<Recorder>(seen)), run.facts);
  thread.start();
  CHECK_THROWS_WITH(send_later({}, run.facts), ContainsSubstring("still running"));
  Trackers second(list("csv", std::make_unique<Recorder>(seen)), run.facts);
  CHECK_THROWS_WITH(second.start(), ContainsSubstring("Another process"));
}

TEST_CASE("before they start, trackers change nothing, and save what was loaded") {
  Case run;
  Seen seen;
  State checkpoint;
  checkpoint.texts["id"] = "abc";
  checkpoint.numbers["started_at"] = 12;
  {
    Trackers trackers(list("csv", std::make_unique<Recorder>(seen)), run.facts);
    trackers.load(checkpoint);
    CHECK(trackers.save().texts.at("id") == "abc");
    CHECK_THROWS_AS(trackers.log(at(1)), std::logic_error);
  }
  CHECK(seen.order.empty());
  CHECK(std::filesystem::is_empty(run.folder.path()));
}

TEST_CASE("a run that starts over sends nothing of its earlier attempt, not even of step 0") {
  Case run;
  Quiet quiet;
  Server server;
  server.up = false;
  const auto client = [&] { return list("mlflow", std::make_unique<Client>(server), false, remote); };
  std::string id;
  {
    Trackers earlier(client(), run.facts, hasty);
    earlier.start();
    id = earlier.run_id();
    for (int step = 0; step <= 5; ++step) earlier.log(at(step));
  }
  server.up = true;
  Trackers trackers(client(), run.facts, hasty);
  trackers.start(0);
  trackers.log(at(1));
  trackers.finish(Outcome::finished);
  CHECK(trackers.run_id() == id);
  CHECK(server.steps == steps_to(1));
  CHECK(server.order == "start, finished");
}

TEST_CASE("a spool that cannot be written switches its tracker off, and training goes on") {
  Case run;
  Quiet quiet;
  Server server;
  Seen seen;
  std::filesystem::create_directories(run.folder / "tracking");
  std::filesystem::create_symlink("/dev/full", run.folder / "tracking/mlflow.spool");
  auto trackers = list("jsonl", std::make_unique<Recorder>(seen), true);
  trackers.push_back({"mlflow", std::make_unique<Client>(server), false, remote});
  Trackers thread(std::move(trackers), run.facts, hasty);
  thread.start();
  for (int step = 1; step <= 3; ++step) thread.log(at(step));
  thread.finish(Outcome::finished);
  CHECK(seen.steps == steps_to(3));
  CHECK(server.order == "start, finished");  // how the run ended, though its metrics are missing
  REQUIRE(log::warnings().size() >= 1);
  CHECK_THAT(log::warnings()[0], ContainsSubstring("No space left on device"));
}

TEST_CASE("logging after the end is a mistake that is not swallowed") {
  Case run;
  Trackers thread({}, run.facts);
  thread.start();
  thread.finish(Outcome::finished);
  CHECK_THROWS_AS(thread.log(at(1)), std::logic_error);
}

}  // namespace
}  // namespace runner
