// TensorBoard's own reader judges the files, in tests/python/test_tensorboard.py; the case hidden here writes
// them.
#include <catch2/catch_all.hpp>

#include <csignal>
#include <cstdlib>

#include "components/trackers/tensorboard_writer.hpp"
#include "components/trackers/tracker.hpp"
#include "components/trackers/wall_clock.hpp"
#include "registry/base/utf8.hpp"
#include "tests/support/parts.hpp"
#include "tests/support/temporary_folder.hpp"

namespace runner {
namespace {

using testing::part;
using testing::read_text;
using testing::TemporaryFolder;

std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path());
  return files;
}

TEST_CASE("text that is not UTF-8 is repaired, and only there") {
  CHECK(valid_utf8("plain") == "plain");
  CHECK(valid_utf8("\xc3\xa4 \xf0\x9f\x98\x80") == "\xc3\xa4 \xf0\x9f\x98\x80");
  CHECK(valid_utf8("a\xff"
                   "b\xc3") ==
        "a\xef\xbf\xbd"
        "b\xef\xbf\xbd");
}

TEST_CASE("every writer has an event file of its own, also within one second") {
  TemporaryFolder folder;
  TensorBoardWriter first(folder.path()), second(folder.path());
  CHECK(first.path() != second.path());
  CHECK(first.path().filename().string().starts_with("events.out.tfevents."));
  CHECK(files_in(folder.path()).size() == 2);
}

TEST_CASE("tensorboard writes into its folder of the run and lets others see it at every flush") {
  TemporaryFolder folder;
  auto tracker = part<TrackerKind>("tensorboard").build({folder.path()});
  CHECK(files_in(folder.path()).empty());  // nothing before the start
  tracker->start({"x", folder.path(), {}, {}});
  const auto files = files_in(folder / "tensorboard");
  REQUIRE(files.size() == 1);
  const auto size = std::filesystem::file_size(files[0]);
  tracker->log({1, 0, 0, {{"train/loss", 1}}});
  CHECK(std::filesystem::file_size(files[0]) == size);
  tracker->flush();
  CHECK(std::filesystem::file_size(files[0]) > size);
}

TEST_CASE("tensorboard gets the recipe of a resumed run again only if it has changed") {
  TemporaryFolder folder;
  std::optional<State> place;
  const auto start = [&](const std::string& recipe) {
    auto tracker = part<TrackerKind>("tensorboard").build({folder.path()});
    RunFacts facts{"x", folder.path(), recipe, {{"optimizer.lr", 0.1}}};
    facts.id = "0123456789abcdef0123456789abcdef";
    if (place) {
      facts.resumed_at = 3;
      facts.place = *place;
    }
    tracker->start(facts);
    place = tracker->place();
    std::string written;
    for (const auto& file : files_in(folder / "tensorboard")) written += read_text(file);
    return written;
  };
  const auto times = [](const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
    return count;
  };
  CHECK(times(start("lr = 0.1\n"), "lr = 0.1") == 1);
  const std::string same = start("lr = 0.1\n");
  CHECK(times(same, "lr = 0.1") == 1);
  CHECK(times(same, "session_start_info") == 1);
  const std::string changed = start("lr = 0.2\n");
  CHECK(times(changed, "lr = 0.1") == 1);
  CHECK(times(changed, "lr = 0.2") == 1);
}

TEST_CASE("the end of a session is taken back, in a long event file too") {
  for (const int records : {3, 40'000}) {
    TemporaryFolder folder;
    TensorBoardWriter writer(folder.path());
    for (int step = 0; step < records; ++step) writer.add_scalar("train/loss", step, 1);
    writer.flush();
    const auto size = std::filesystem::file_size(writer.path());
    TensorBoardWriter::cut_end(writer.path());
    CHECK(std::filesystem::file_size(writer.path()) == size);
    writer.end_session(TensorBoardWriter::Status::failure);
    writer.add_text("end of the run", 0, "it failed");
    writer.flush();
    TensorBoardWriter::cut_end(writer.path());
    CHECK(std::filesystem::file_size(writer.path()) == size);
    if (records > 3) CHECK(size > 1 << 20);
  }
}

const RunFacts example_facts{"example",
                             {},
                             "[optimizer]\nname = \"sgd\"\nlr = 0.1\n",
                             {{"optimizer.name", "sgd"},
                              {"optimizer.lr", 0.1},
                              {"optimizer.nesterov", true},
                              {"model.note", "\xff\xc3\xa4"}}};

TEST_CASE("writes event files for TensorBoard's own reader", "[.export-tensorboard]") {
  const std::filesystem::path folder = std::getenv("RUNNER_EXPORT_DIR");

  auto tracker = part<TrackerKind>("tensorboard").build({folder, "finished"});
  tracker->start(example_facts);
  for (int step = 0; step < 20000; ++step)
    tracker->log({step, 0, 0, {{"train/loss", 1.0 / (step + 1)}, {"train/lr", 1e-3}}, 1700000000.0 + step});
  tracker->log({20000, 1, 0, {{"eval/accuracy", NAN}, {"eval/loss", INFINITY}}});
  tracker->text("note", "**bold** \xc3\xa4", 7);
  tracker->finish({Outcome::finished, {}, wall_clock()});

  auto failed = part<TrackerKind>("tensorboard").build({folder, "failed"});
  RunFacts facts = example_facts;
  facts.settings.emplace_back("model.width", 64.0);
  failed->start(facts);
  failed->log({1, 0, 0, {{"train/loss", 2}}});
  failed->finish({Outcome::failed});

  TensorBoardWriter writer(folder.parent_path() / "vocabulary");
  const std::vector<double> values{-3.5, -1, 0, 0, 1e-13, 0.5, 0.5, 2, 1e21, NAN};
  writer.add_histogram("weights", 3, values);
  writer.add_histogram("nothing", 3, std::span<const double>{});
  writer.add_image("picture", 4, read_text(std::getenv("RUNNER_EXPORT_PNG")), 2, 3, 3);
  writer.add_hparams({{"lr", 0.1}, {"name", "sgd"}}, {"eval/accuracy"});
  writer.end_session(TensorBoardWriter::Status::success);
}

TEST_CASE("writes an event file and is killed", "[.export-killed]") {
  auto tracker = part<TrackerKind>("tensorboard").build({std::getenv("RUNNER_EXPORT_DIR"), "killed"});
  tracker->start(example_facts);
  for (int step = 0; step < 100; ++step) {
    tracker->log({step, 0, 0, {{"train/loss", static_cast<double>(step)}}});
    tracker->flush();
  }
  std::raise(SIGKILL);
}

}  // namespace
}  // namespace runner
