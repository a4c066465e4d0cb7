#include "runner/checkpoint/recorded_steps.hpp"

#include <catch2/catch_all.hpp>

#include "tests/support/files.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace runner;
using namespace runner::testing;

namespace {

RecordedSteps steps_of(const std::string& lines, double after = 0, std::int64_t until = 100) {
  const TemporaryFolder run;
  write_file(run / "metrics.jsonl", lines);
  return recorded_steps(run.path(), after, until);
}

const std::string recorded = R"({"step": 5, "epoch": 0.5, "time": 1.5, "train/loss": 2.0, "perf/speed": 9}
{"step": 5, "epoch": 0.6, "time": 1.6, "train/loss": 2.5}
{"step": 6, "epoch": 0.7, "time": 1.7, "train/loss": 1.0}
)";

}  // namespace

TEST_CASE("recorded steps: those after an epoch, up to a step, in spite of a torn line", "[verify]") {
  const RecordedSteps found = steps_of(recorded + "{\"step\": 7, \"ep", 0.5, 5);
  REQUIRE(found.values.size() == 1);
  CHECK(found.values.begin()->first == 0.6);
  CHECK(found.epochs == std::map<std::int64_t, double>{{5, 0.6}});
  CHECK(found.times == std::map<std::int64_t, double>{{5, 1.6}});
}

TEST_CASE("recorded steps: the same records match, however fast each was", "[verify]") {
  const RecordedSteps other =
      steps_of(R"({"step": 5, "epoch": 0.5, "time": 7, "train/loss": 2.0, "perf/speed": 1}
{"step": 6, "epoch": 0.7, "time": 9, "train/loss": 1.0, "eval/loss": 3.0}
)");
  const RecordComparison found = compare_records(steps_of(recorded), other);
  CHECK(found.compared == 2);
  CHECK(found.first_difference.empty());
}

TEST_CASE("recorded steps: the first difference is reported", "[verify]") {
  const auto difference = [](const std::string& replayed) {
    return compare_records(steps_of(recorded), steps_of(replayed + "\n")).first_difference;
  };
  CHECK(difference(R"({"step": 5, "epoch": 0.6, "train/loss": 2.25})") ==
        "train/loss at step 5: recorded 2.5, recomputed 2.25");
  // The replay skipped an update that the run did not skip, and the other way round.
  CHECK(difference(R"({"step": 5, "epoch": 0.7, "train/loss": 1.0})") ==
        "step at epoch 0.7: recorded 6, recomputed 5");
  CHECK(difference(R"({"step": 6, "epoch": 0.8, "train/loss": 1.0})") ==
        "epoch at step 6: recorded 0.7, recomputed 0.8");
}
