#include "runner/runs/tracking/send_later.hpp"

#include <catch2/catch_all.hpp>
#include <fstream>

#include "components/trackers/wall_clock.hpp"
#include "runner/runs/tracking/rank_folders.hpp"
#include "runner/runs/tracking/tracker_state.hpp"
#include "tests/runner/runs/tracking/remote_server.hpp"

namespace runner {
namespace {

using namespace testing::trackers;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("what a server did not take is kept and sent later, the end included") {
  Case run;
  Quiet quiet;
  RemoteServer server;
  server.up = false;
  {
    Trackers thread(list("mlflow", std::make_unique<RemoteTracker>(server), false, remote), run.facts, hasty);
    thread.start();
    for (int step = 1; step <= 20; ++step) thread.log(at(step));
    thread.finish(Outcome::finished);
  }
  const double ended_before = wall_clock();
  CHECK(server.order.empty());
  CHECK_THAT(log::warnings().back(), ContainsSubstring("runner track " + run.folder.path().string()));

  server.up = true;
  const auto again = [&] {
    return send_later(list("mlflow", std::make_unique<RemoteTracker>(server), false, remote), run.facts);
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
  RemoteServer server;
  server.up = false;
  const std::filesystem::path inside = GENERATE("", "ranks/rank-1");
  const auto before = run.folder / "before", after = run.folder / "after", elsewhere = run.folder / "file";
  run.facts.folder = before / inside;
  std::filesystem::create_directories(run.facts.folder);
  {
    Trackers thread(list("mlflow", std::make_unique<RemoteTracker>(server), false, remote), run.facts, hasty);
    thread.start();
    thread.artifact("model", before / "best/model");
    thread.artifact("other", elsewhere);
    thread.finish(Outcome::finished);
  }
  std::filesystem::rename(before, after);
  server.up = true;
  run.facts.folder = after / inside;
  send_later(list("mlflow", std::make_unique<RemoteTracker>(server), false, remote), run.facts);
  // A run folder of somebody else could name any file that can be read.
  CHECK(server.files == std::vector<std::filesystem::path>{after / "best/model"});
  CHECK_THAT(log::warnings().back(), ContainsSubstring(elsewhere.string() + " is not in the run folder"));
}

TEST_CASE("a tracker whose saved state is damaged does not keep the others from being sent later") {
  Case run;
  Quiet quiet;
  RemoteServer damaged, whole;
  damaged.up = whole.up = false;
  const auto trackers = [&] {
    auto both = list("mlflow", std::make_unique<RemoteTracker>(damaged), false, remote);
    both.push_back({"mlflow-2", std::make_unique<RemoteTracker>(whole), false, remote});
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
  RemoteServer server;
  server.up = false;
  run.facts.folder = rank_folder(run.folder.path(), 1);
  std::filesystem::create_directories(run.facts.folder);
  CHECK(ranks_with_trackers(run.folder.path()).empty());
  {
    Trackers thread(list("mlflow.rank1", std::make_unique<RemoteTracker>(server), false, remote), run.facts,
                    hasty);
    thread.start();
    thread.log(at(1));
    thread.finish(Outcome::finished);
  }
  CHECK(log::warnings().back().ends_with("runner track " + run.folder.path().string()));
  CHECK(ranks_with_trackers(run.folder.path()) == std::vector{1});
}

TEST_CASE("a killed run: what was logged is on disk, and is sent later as that of a failed run") {
  Case run;
  RemoteServer server;
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
  send_later(list("mlflow", std::make_unique<RemoteTracker>(server), false, remote), run.facts);
  CHECK(server.steps == steps_to(5));
  CHECK(server.order == "start, failed");
  CHECK(server.end == 1700000005);  // when it last logged something
}

TEST_CASE("a killed run is sent later also if only its end, or something after its end, is missing") {
  Case run;
  RemoteServer server;
  const bool told_end = GENERATE(false, true);
  TrackerStateFile(run.folder / "tracking/mlflow.json").write({.texts = {{"run", "x"}}}, told_end);
  if (told_end) {
    Spool left(run.folder / "tracking/mlflow.spool");
    left.append({std::array{std::make_shared<const Item>(at(1))}});
  }
  const auto sent =
      send_later(list("mlflow", std::make_unique<RemoteTracker>(server), false, remote), run.facts);
  REQUIRE(sent.size() == 1);
  CHECK(sent[0].complete);
  CHECK_FALSE(sent[0].nothing_to_do);
  CHECK(server.order == "start, failed");
  CHECK(server.steps == steps_to(told_end ? 1 : 0));
}

TEST_CASE("a run that left a result but did not come to tell a tracker is reported as it ended") {
  Case run;
  RemoteServer server;
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
  send_later(list("mlflow", std::make_unique<RemoteTracker>(server), false, remote), run.facts, end);
  CHECK(server.steps == steps_to(1));
  CHECK(server.order == "start, finished");
  CHECK(server.end == (told ? 1700000008 : 1700000009));
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

}  // namespace
}  // namespace runner
