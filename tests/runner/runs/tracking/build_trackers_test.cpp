#include "runner/runs/tracking/build_trackers.hpp"

#include <catch2/catch_all.hpp>

#include "tests/support/parts.hpp"
#include "tests/support/temporary_folder.hpp"

namespace runner {
namespace {

using testing::part;

TEST_CASE("metrics.jsonl is always written, once, and is the one tracker a run cannot do without") {
  testing::TemporaryFolder folder;
  std::vector<Part<TrackerKind>> parts{part<TrackerKind>("csv"), part<TrackerKind>("jsonl")};
  auto trackers = build_trackers(parts, Registry::of_linked(), {folder.path()});
  REQUIRE(trackers.size() == 2);
  CHECK(trackers[0].name == "jsonl");
  CHECK(trackers[0].essential);
  CHECK(trackers[1].name == "csv");
  CHECK_FALSE(trackers[1].essential);

  Trackers thread(std::move(trackers), {"x", folder.path(), {}, {}});
  thread.start();
  thread.log({1, 0.5, 2, {{"train/loss", 3}}});
  thread.finish(Outcome::finished);
  CHECK(testing::read_text(folder / "metrics.jsonl") ==
        "{\"step\":1,\"epoch\":0.5,\"time\":2.0,\"train/loss\":3.0}\n");
  CHECK(testing::read_text(folder / "metrics.csv") == "step,epoch,time,train/loss\n1,0.5,2,3\n");
}

TEST_CASE("trackers of one kind have names of their own; other ranks have only those that ask for it") {
  testing::TemporaryFolder folder;
  const std::vector<Part<TrackerKind>> parts{part<TrackerKind>("csv"),
                                             part<TrackerKind>("csv", {{"logging_dir", "tables"}})};
  const auto trackers = build_trackers(parts, Registry::of_linked(), {folder.path()});
  REQUIRE(trackers.size() == 3);
  CHECK(trackers[2].name == "csv-2");
  trackers[2].tracker->start({"x", folder.path(), {}, {}});
  CHECK(std::filesystem::exists(folder / "tables/metrics.csv"));
  CHECK(build_trackers(parts, Registry::of_linked(), {folder.path(), {}, 1}).empty());
}

TEST_CASE("a full disk under metrics.jsonl stops the run with the reason") {
  testing::TemporaryFolder folder;
  std::filesystem::create_symlink("/dev/full", folder / "metrics.jsonl");
  Trackers thread(build_trackers({}, Registry::of_linked(), {folder.path()}), {"x", folder.path(), {}, {}});
  thread.start();
  thread.log({1, 0, 0, {}});
  CHECK_THROWS_WITH(thread.finish(Outcome::finished),
                    Catch::Matchers::ContainsSubstring("No space left on device"));
}

}  // namespace
}  // namespace runner
