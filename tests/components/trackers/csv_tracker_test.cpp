#include <catch2/catch_all.hpp>

#include "components/trackers/tracker.hpp"
#include "tests/support/parts.hpp"
#include "tests/support/temporary_folder.hpp"

namespace runner {
namespace {

using Catch::Matchers::ContainsSubstring;
using testing::part;
using testing::read_text;
using testing::TemporaryFolder;

std::unique_ptr<Tracker> started(const std::filesystem::path& folder) {
  auto tracker = part<TrackerKind>("csv").build({folder});
  tracker->start({"x", folder, {}, {}});
  return tracker;
}

TEST_CASE("csv: a measurement that appears later gets a column, and the table is whole at every moment") {
  TemporaryFolder folder;
  auto tracker = started(folder.path());
  tracker->log({50, 0.25, 1.5, {{"train/loss", 0.1}, {"train/lr", 1e-3}}});
  CHECK(read_text(folder / "metrics.csv") == "step,epoch,time,train/loss,train/lr\n50,0.25,1.5,0.1,0.001\n");
  tracker->log({60, 0.5, 2, {{"eval/accuracy", 0.75}}});
  tracker->log({70, 0.75, 3, {{"train/lr", 2e-3}, {"train/loss", INFINITY}}});
  CHECK(read_text(folder / "metrics.csv") ==
        "step,epoch,time,train/loss,train/lr,eval/accuracy\n"
        "50,0.25,1.5,0.1,0.001,\n"
        "60,0.5,2,,,0.75\n"
        "70,0.75,3,inf,0.002,\n");
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);  // no draft left behind
}

TEST_CASE("csv: a long table keeps each of its rows once when a column is added") {
  TemporaryFolder folder;
  auto tracker = started(folder.path());
  std::string expected = "step,epoch,time,a,b\n";
  for (std::int64_t step = 1; step <= 20'000; ++step) {
    tracker->log({step, 0, 0, {{"a", 1}}});
    expected += std::to_string(step) + ",0,0,1,\n";
  }
  REQUIRE(expected.size() > 1 << 17);  // copied in several portions
  tracker->log({20'001, 0, 0, {{"b", 2}}});
  CHECK(read_text(folder / "metrics.csv") == expected + "20001,0,0,,2\n");
}

TEST_CASE("csv: names are quoted where they must be, also when the table grows or is continued") {
  TemporaryFolder folder;
  started(folder.path())->log({1, 0, 0, {{"a,\"b\"\nc", 1}}});
  auto tracker = started(folder.path());
  tracker->log({2, 0, 0, {{"a,\"b\"\nc", 2}}});
  tracker->log({3, 0, 0, {{"d", NAN}}});
  CHECK(read_text(folder / "metrics.csv") ==
        "step,epoch,time,\"a,\"\"b\"\"\nc\",d\n1,0,0,1,\n2,0,0,2,\n3,0,0,,nan\n");
}

TEST_CASE("csv continues its own table without a half row, and leaves a foreign file alone") {
  TemporaryFolder folder;
  std::ofstream(folder / "metrics.csv") << "step,epoch,time,x\n1,0,0,5\n2,0,";
  started(folder.path())->log({2, 0, 0, {{"x", 6}}});
  CHECK(read_text(folder / "metrics.csv") == "step,epoch,time,x\n1,0,0,5\n2,0,0,6\n");
  std::ofstream(folder / "metrics.csv") << "name,price\n";
  CHECK_THROWS_WITH(started(folder.path()), ContainsSubstring("was not written by this tracker"));
  CHECK(read_text(folder / "metrics.csv") == "name,price\n");
}

// A run with its table in a folder that it shares with others; continues from the state, and saves it.
std::unique_ptr<Tracker> started_in(const std::filesystem::path& shared, const std::filesystem::path& run,
                                    State& state, std::optional<std::int64_t> resumed_at = {}) {
  std::filesystem::create_directories(run);
  auto tracker = part<TrackerKind>("csv").build({.folder = run, .logging_dir = shared});
  if (!state.empty()) tracker->load(state);
  RunFacts facts{"x", run, {}, {}};
  facts.resumed_at = resumed_at;
  tracker->start(facts);
  state = tracker->save();
  return tracker;
}

TEST_CASE("csv: a table that a spreadsheet saved with the line ends of Windows is continued") {
  const TemporaryFolder folder;
  const auto file = folder / "metrics.csv";
  std::ofstream(file, std::ios::binary) << "step,epoch,time,a\r\n1,0.5,1,2\r\n";
  const auto tracker = started(folder.path());
  tracker->log({2, 1, 2, {{"a", 3}}});
  CHECK(read_text(file) == "step,epoch,time,a\r\n1,0.5,1,2\r\n2,1,2,3\n");
  tracker->log({3, 1.5, 3, {{"b", 4}}});
  CHECK(read_text(file) == "step,epoch,time,a,b\n1,0.5,1,2,\n2,1,2,3,\n3,1.5,3,,4\n");
}

TEST_CASE("csv: a run does not touch the table of another one in a shared folder, and can cut its own") {
  TemporaryFolder folder;
  const auto table = folder / "shared/metrics.csv";
  State mine, theirs;
  {
    auto tracker = started_in(folder / "shared", folder / "mine", mine);
    for (std::int64_t step : {1, 2, 3}) tracker->log({step, 0, 0, {{"x", 1}}});
  }
  std::ofstream(table, std::ios::app) << "4,0";  // the other run is just writing
  const std::string before = read_text(table);
  for (const auto resumed_at : {std::optional<std::int64_t>(), {-1}, {1}}) {
    CHECK_THROWS_WITH(started_in(folder / "shared", folder / "theirs", theirs, resumed_at),
                      ContainsSubstring(table.string() + " holds the rows of another run") &&
                          ContainsSubstring("logging_dir"));
    CHECK(read_text(table) == before);
  }
  std::filesystem::rename(folder / "mine", folder / "moved");
  started_in(folder / "shared", folder / "moved", mine, 1);
  CHECK(read_text(table) == "step,epoch,time,x\n1,0,0,1\n");
  started_in(folder / "shared", folder / "moved", mine, -1);
  CHECK(read_text(table) == "step,epoch,time\n");
}

TEST_CASE("csv: of two runs that start with the same table, the second gives up before either logs") {
  TemporaryFolder folder;
  State one, two;
  auto first = started_in(folder / "shared", folder / "one", one);
  CHECK_THROWS_WITH(started_in(folder / "shared", folder / "two", two), ContainsSubstring("another run"));
  first->log({1, 0, 0, {{"x", 1}}});
  started_in(folder / "shared", folder / "one", one)->log({2, 0, 0, {{"x", 1}}});
  CHECK(read_text(folder / "shared/metrics.csv") == "step,epoch,time,x\n1,0,0,1\n2,0,0,1\n");
}

TEST_CASE("csv: a table in the run folder needs no state") {
  TemporaryFolder folder;
  CHECK(started(folder.path())->save().empty());
}

TEST_CASE("csv goes where it is told") {
  TemporaryFolder folder;
  auto tracker = part<TrackerKind>("csv", {{"file", "tables/all.csv"}}).build({folder.path()});
  tracker->start({"x", folder.path(), {}, {}});
  tracker->log({1, 0, 0, {{"x", 1}}});
  CHECK(read_text(folder / "tables/all.csv") == "step,epoch,time,x\n1,0,0,1\n");
  CHECK_THROWS_WITH(part<TrackerKind>("csv", {{"file", "metrics.jsonl"}}),
                    ContainsSubstring("must end in .csv"));
}

}  // namespace
}  // namespace runner
