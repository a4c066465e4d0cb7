// What files say after a resume: every record up to the step of the checkpoint, in order, and none after it.
#include <catch2/catch_all.hpp>

#include "components/trackers/tracker.hpp"
#include "tests/support/parts.hpp"
#include "tests/support/temporary_folder.hpp"

namespace runner {
namespace {

using testing::part;
using testing::read_text;
using testing::TemporaryFolder;

Record at(std::int64_t step, const char* name = "x") {
  return {step, 0, 0, {{name, static_cast<double>(step)}}};
}

void run(const char* name, const TemporaryFolder& folder, std::optional<std::int64_t> resumed_at,
         std::vector<Record> records) {
  auto tracker = part<TrackerKind>(name).build({folder.path()});
  RunFacts facts{"x", folder.path(), {}, {}};
  facts.resumed_at = resumed_at;
  tracker->start(facts);
  for (const Record& record : records) tracker->log(record);
  tracker->flush();
}

TEST_CASE("metrics.jsonl of a resumed run is cut after the checkpoint") {
  TemporaryFolder folder;
  run("jsonl", folder, {}, {at(1), at(2), at(2, "eval/y"), at(3), at(10)});
  std::ofstream(folder / "metrics.jsonl", std::ios::app) << R"({"step":11,"ep)";
  run("jsonl", folder, 2, {at(3)});
  CHECK(read_text(folder / "metrics.jsonl") ==
        "{\"step\":1,\"epoch\":0.0,\"time\":0.0,\"x\":1.0}\n"
        "{\"step\":2,\"epoch\":0.0,\"time\":0.0,\"x\":2.0}\n"
        "{\"step\":2,\"epoch\":0.0,\"time\":0.0,\"eval/y\":2.0}\n"
        "{\"step\":3,\"epoch\":0.0,\"time\":0.0,\"x\":3.0}\n");
  run("jsonl", folder, 0, {});
  CHECK(read_text(folder / "metrics.jsonl").empty());
}

TEST_CASE("csv of a resumed run is cut after the checkpoint, its header of several lines aside") {
  TemporaryFolder folder;
  run("csv", folder, {}, {at(1, "two\nlines"), at(2, "two\nlines"), at(12, "two\nlines"), at(3, "b")});
  run("csv", folder, 2, {at(3, "b")});
  CHECK(read_text(folder / "metrics.csv") ==
        "step,epoch,time,\"two\nlines\",b\n1,0,0,1,\n2,0,0,2,\n3,0,0,,3\n");
  run("csv", folder, 0, {});
  CHECK(read_text(folder / "metrics.csv") == "step,epoch,time,\"two\nlines\",b\n");
}

}  // namespace
}  // namespace runner
