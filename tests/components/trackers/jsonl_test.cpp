#include <catch2/catch_all.hpp>

#include <nlohmann/json.hpp>

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
  auto tracker = part<TrackerKind>("jsonl").build({folder});
  tracker->start({"x", folder, {}, {}});
  return tracker;
}

TEST_CASE("jsonl writes one object a line: step, epoch and time first, then what was logged, in order") {
  TemporaryFolder folder;
  auto tracker = started(folder.path());
  tracker->log({50, 0.25, 1.5, {{"train/loss", 0.1}, {"train/lr", 1e-3}}});
  tracker->log({100, 0.5, 3, {{"eval/accuracy", 1.0 / 3.0}}});
  // Readable while the run is on: nothing is kept back in the process.
  CHECK(read_text(folder / "metrics.jsonl") ==
        "{\"step\":50,\"epoch\":0.25,\"time\":1.5,\"train/loss\":0.1,\"train/lr\":0.001}\n"
        "{\"step\":100,\"epoch\":0.5,\"time\":3.0,\"eval/accuracy\":0.3333333333333333}\n");
}

TEST_CASE("jsonl: numbers that JSON does not have are strings, and every line stays JSON") {
  TemporaryFolder folder;
  started(folder.path())
      ->log({1, 0, 0, {{"a", NAN}, {"b", INFINITY}, {"c", -INFINITY}, {"bad \xff \"name\"\n", 1}}});
  const auto line = nlohmann::json::parse(read_text(folder / "metrics.jsonl"));
  CHECK(line["a"] == "NaN");
  CHECK(line["b"] == "Infinity");
  CHECK(line["c"] == "-Infinity");
  CHECK(line.size() == 7);
}

TEST_CASE("jsonl continues a file, without the half line a killed process left") {
  TemporaryFolder folder;
  std::ofstream(folder / "metrics.jsonl") << "{\"step\":1}\n{\"step\":2,\"trai";
  started(folder.path())->log({3, 0, 0, {}});
  CHECK(read_text(folder / "metrics.jsonl") == "{\"step\":1}\n{\"step\":3,\"epoch\":0.0,\"time\":0.0}\n");
}

TEST_CASE("jsonl: a full disk and an unwritable folder are errors that name the file") {
  TemporaryFolder folder;
  std::filesystem::create_symlink("/dev/full", folder / "metrics.jsonl");
  CHECK_THROWS_WITH(started(folder.path())->log({1, 0, 0, {}}),
                    ContainsSubstring("metrics.jsonl: No space left on device."));
  std::ofstream(folder / "file") << "not a folder";
  CHECK_THROWS_WITH(started(folder / "file"),
                    ContainsSubstring("Cannot write " + (folder / "file/metrics.jsonl").string()));
}

}  // namespace
}  // namespace runner
