// What was logged before a checkpoint is on the disk when the checkpoint is, not only in the system's memory.
#include <catch2/catch_all.hpp>

#include "components/trackers/append_file.hpp"
#include "runner/runs/tracking/build_trackers.hpp"
#include "runner/runs/tracking/trackers.hpp"
#include "tests/faults/failing_calls.hpp"
#include "tests/support/parts.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace runner;
using namespace runner::testing;

TEST_CASE("trackers: flushing them writes metrics.jsonl and metrics.csv to the disk") {
  const TemporaryFolder scratch;
  const Registry registry = Registry::of_linked();
  RunFacts facts;
  facts.folder = scratch.path();
  Trackers trackers(build_trackers({part<TrackerKind>("csv")}, registry, {scratch.path()}), facts);
  trackers.start();
  const FailingCall calls(scratch.path().string(), 0, 0);
  trackers.log({.step = 1, .values = {{"train/loss", 0.5}}});
  CHECK(calls.count("fsync", "metrics.jsonl") == 0);
  trackers.flush();
  CHECK(calls.count("fsync", "metrics.jsonl") == 1);
  CHECK(calls.count("fsync", "metrics.csv") == 1);
  trackers.flush();  // nothing is new
  CHECK(calls.count("fsync", "metrics.jsonl") == 1);
}

TEST_CASE("trackers: a checkpoint does not wait for the disk of a tracker outside the run folder") {
  const TemporaryFolder scratch;
  AppendFile inside(scratch / "run/inside.txt"), outside(scratch / "elsewhere/outside.txt");
  inside.append("a line\n");
  outside.append("a line\n");
  const FailingCall calls(scratch.path().string(), 0, 0);
  flush_append_files(scratch / "run");
  CHECK(calls.count("fsync", "inside.txt") == 1);
  CHECK(calls.count("fsync", "outside.txt") == 0);
  flush_append_files(scratch / "elsewhere");
  CHECK(calls.count("fsync", "outside.txt") == 1);
}

TEST_CASE("append file: one that is closed is flushed, and a failure names the file") {
  const TemporaryFolder scratch;
  {
    const FailingCall calls(scratch.path().string(), 0, 0);
    AppendFile(scratch / "short.txt").append("a line\n");
    CHECK(calls.count("fsync", "short.txt") == 1);
  }
  AppendFile file(scratch / "long.txt");
  file.append("a line\n");
  const FailingCall failing(scratch.path().string(), 1, EIO);
  CHECK_THROWS_WITH(flush_append_files(scratch.path()), Catch::Matchers::ContainsSubstring("long.txt"));
}
