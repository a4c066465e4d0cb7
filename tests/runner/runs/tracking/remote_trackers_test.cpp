#include <catch2/catch_all.hpp>
#include <fstream>

#include "tests/runner/runs/tracking/remote_server.hpp"

namespace runner {
namespace {

using namespace testing::trackers;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("a server that goes away and comes back misses nothing, and is reported once") {
  Case run;
  Quiet quiet;
  RemoteServer server;
  TrackerPatience patience = hasty;
  patience.at_the_end = patience.outage_at_the_end = 60;
  Trackers thread(list("mlflow", std::make_unique<RemoteTracker>(server), false, remote), run.facts,
                  patience);
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

TEST_CASE("a resumed run keeps its id, and what waits for a server only up to the checkpoint") {
  Case run;
  Quiet quiet;
  RemoteServer server;
  server.up = false;
  State checkpoint;
  std::string id;
  {
    Trackers thread(list("mlflow", std::make_unique<RemoteTracker>(server), false, remote), run.facts, hasty);
    thread.start();
    for (int step = 1; step <= 20; ++step) thread.log(at(step));
    checkpoint = thread.save();
    id = thread.run_id();
    CHECK(id.size() == 32);
  }
  server.up = true;
  {
    Trackers thread(list("mlflow", std::make_unique<RemoteTracker>(server), false, remote), run.facts, hasty);
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
    Trackers thread(list("mlflow", std::make_unique<RemoteTracker>(server), false, remote), other.facts,
                    hasty);
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
  RemoteServer server;
  server.up = false;
  const auto client = [&] { return list("mlflow", std::make_unique<RemoteTracker>(server), false, remote); };
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
  RemoteServer server;
  Seen seen;
  std::filesystem::create_directories(run.folder / "tracking");
  std::filesystem::create_symlink("/dev/full", run.folder / "tracking/mlflow.spool");
  auto trackers = list("jsonl", std::make_unique<Recorder>(seen), true);
  trackers.push_back({"mlflow", std::make_unique<RemoteTracker>(server), false, remote});
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
