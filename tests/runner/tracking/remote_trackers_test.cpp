#include <atomic>
#include <catch2/catch_all.hpp>
#include <fstream>
#include <numeric>

#include "components/trackers/support/wall_clock.hpp"
#include "runner/tracking/rank_folders.hpp"
#include "runner/tracking/send_later.hpp"
#include "tests/support/recorded_trackers.hpp"

namespace runner {
namespace {

using namespace testing::trackers;
using Catch::Matchers::ContainsSubstring;

// A server that may be away. Keeps what it was sent, and counts how often it was asked in vain.
struct Server {
  std::atomic<bool> up = true;
  std::atomic<int> asked_in_vain = 0;
  std::vector<std::int64_t> steps;
  std::vector<std::filesystem::path> files;
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
  void artifact(std::string_view, const std::filesystem::path& file) override {
    ask();
    server.files.push_back(file);
  }
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

TEST_CASE("the files of a run whose folder was moved are sent from there") {
  Case run;
  Quiet quiet;
  Server server;
  server.up = false;
  const std::filesystem::path inside = GENERATE("", "ranks/rank-1");
  const auto before = run.folder / "before", after = run.folder / "after", elsewhere = run.folder / "file";
  run.facts.folder = before / inside;
  std::filesystem::create_directories(run.facts.folder);
  {
    Trackers thread(list("mlflow", std::make_unique<Client>(server), false, remote), run.facts, hasty);
    thread.start();
    thread.artifact("model", before / "best/model");
    thread.artifact("other", elsewhere);
    thread.finish(Outcome::finished);
  }
  std::filesystem::rename(before, after);
  server.up = true;
  run.facts.folder = after / inside;
  send_later(list("mlflow", std::make_unique<Client>(server), false, remote), run.facts);
  CHECK(server.files == std::vector<std::filesystem::path>{after / "best/model", elsewhere});
}

TEST_CASE("a tracker whose saved state is damaged does not keep the others from being sent later") {
  Case run;
  Quiet quiet;
  Server damaged, whole;
  damaged.up = whole.up = false;
  const auto trackers = [&] {
    auto both = list("mlflow", std::make_unique<Client>(damaged), false, remote);
    both.push_back({"mlflow-2", std::make_unique<Client>(whole), false, remote});
    return both;
  };
  {
    Trackers thread(trackers(), run.facts, hasty);
    thread.start();
    thread.log(at(1));
    thread.finish(Outcome::finished);
  }
  damaged.up = whole.up = true;
  const auto state = run.folder / "tracking/mlflow.json";
  std::ofstream(state) << GENERATE("half a li", R"({"ended": false, "state": 7})", R"({"ended": 1})");
  log::clear_warnings();
  const auto sent = send_later(trackers(), run.facts);
  REQUIRE(sent.size() == 2);
  CHECK((sent[0].tracker == "mlflow" && !sent[0].complete));
  CHECK((sent[1].tracker == "mlflow-2" && sent[1].complete));
  CHECK(whole.steps == steps_to(1));
  REQUIRE(log::warnings().size() == 1);
  CHECK_THAT(log::warnings()[0],
             ContainsSubstring(state.string() + " is damaged") && ContainsSubstring("Delete it"));
  std::filesystem::remove(state);
  CHECK(send_later(trackers(), run.facts)[0].complete);
  CHECK(damaged.steps == steps_to(1));
}

TEST_CASE("what a server did not take from another rank is sent with the run") {
  Case run;
  Quiet quiet;
  Server server;
  server.up = false;
  run.facts.folder = rank_folder(run.folder.path(), 1);
  std::filesystem::create_directories(run.facts.folder);
  CHECK(ranks_with_trackers(run.folder.path()).empty());
  {
    Trackers thread(list("mlflow.rank1", std::make_unique<Client>(server), false, remote), run.facts, hasty);
    thread.start();
    thread.log(at(1));
    thread.finish(Outcome::finished);
  }
  CHECK(log::warnings().back().ends_with("runner track " + run.folder.path().string()));
  CHECK(ranks_with_trackers(run.folder.path()) == std::vector{1});
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
  std::ofstream(run.folder / "run.json")
      << R"({"id": "0123456789abcdef0123456789abcdef", "started_at": 1.0})";
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
}

TEST_CASE("a run that starts while another process sends its data goes on with metrics.jsonl alone") {
  Case run;
  Quiet quiet;
  Seen essential, other;
  const auto sending = FileLock::try_lock(run.folder / "tracking/lock");
  REQUIRE(sending);
  auto trackers = list("jsonl", std::make_unique<Recorder>(essential), true);
  trackers.push_back({"csv", std::make_unique<Recorder>(other)});
  TrackerPatience impatient = hasty;
  impatient.other_process = 0;
  Trackers thread(std::move(trackers), run.facts, impatient);
  thread.start();
  thread.log(at(1));
  thread.finish(Outcome::finished);
  CHECK(essential.steps == steps_to(1));
  CHECK(other.order.empty());
  REQUIRE(log::warnings().size() == 1);
  CHECK_THAT(log::warnings()[0], ContainsSubstring("Another process"));
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
  trackers.start(-1);
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
