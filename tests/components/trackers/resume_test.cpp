// What files say after a resume: every record up to the step of the checkpoint, in order, and none after it.
#include <catch2/catch_all.hpp>

#include <fstream>
#include <nlohmann/json.hpp>

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

// How often this text is in the files of a folder.
std::size_t times(const TemporaryFolder& folder, const std::string& text) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path())) {
    if (!entry.is_regular_file()) continue;
    const std::string bytes = read_text(entry.path());
    for (auto at = bytes.find(text); at != std::string::npos; at = bytes.find(text, at + 1)) ++count;
  }
  return count;
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
  run("jsonl", folder, -1, {});
  CHECK(read_text(folder / "metrics.jsonl").empty());
}

TEST_CASE(
    "lines that somebody added to metrics.jsonl or metrics.csv do not hide records after the checkpoint") {
  TemporaryFolder folder;
  for (const char* name : {"jsonl", "csv"}) {
    const auto file = folder / ("metrics." + std::string(name));
    run(name, folder, {}, {at(1), at(2), at(3)});
    const std::string until_two =
        read_text(file).substr(0, read_text(file).rfind('\n', read_text(file).size() - 2) + 1);
    std::ofstream(file, std::ios::app) << "a note\n\n";
    run(name, folder, 2, {});
    CHECK(read_text(file) == until_two);
    std::ofstream(file, std::ios::app) << "a note\n\n";
    run(name, folder, 2, {});
    CHECK(read_text(file) == until_two + "a note\n\n");  // nothing to cut: the file is as it was
  }
}

TEST_CASE("a record of the checkpoint's step that was logged after it is logged only once") {
  // An update that is skipped advances the epoch, but not the step.
  const char* name = GENERATE("jsonl", "csv", "wandb");
  TemporaryFolder folder;
  const auto attempt = [&](std::optional<std::int64_t> resumed_at, std::vector<double> epochs) {
    auto tracker = part<TrackerKind>(name).build({folder.path()});
    RunFacts facts{"x", folder.path(), {}, {}};
    facts.resumed_at = resumed_at;
    facts.resumed_epoch = 0.5;
    tracker->start(facts);
    for (const double epoch : epochs) tracker->log({7, epoch, 0, {{"x", 1000 + epoch}}});
    tracker->flush();
  };
  attempt({}, {0.25, 0.5, 0.75, 1.0});
  attempt(7, {0.75});
  CHECK(times(folder, "1000.25") == 1);
  CHECK(times(folder, "1000.5") == 1);
  CHECK(times(folder, "1000.75") == 1);
}

// A tracker of one run, started and with what it logs at one step and epoch.
std::unique_ptr<Tracker> started(const char* name, const TemporaryFolder& folder,
                                 const std::optional<State>& place) {
  auto tracker = part<TrackerKind>(name).build({folder.path()});
  RunFacts facts{"x", folder.path(), {}, {}};
  facts.id = "0123456789abcdef0123456789abcdef";
  facts.started_at = 1700000000;
  if (place) {
    facts.resumed_at = 7;
    facts.resumed_epoch = 0.5;
    facts.place = *place;
  }
  tracker->start(facts);
  return tracker;
}

void log_at_seven(Tracker& tracker, const std::string& when, double value) {
  tracker.log({7, 0.5, 0, {{when + "_record", value}}});
  tracker.text(when + "_text", "a text", 7);
  tracker.image(when + "_image", {when + " png", 1, 1}, 7);
  tracker.histogram(when + "_histogram", {-1, 1, 4, 0.5, 2, {0, 1}, {1, 3}}, 7);
  tracker.flush();
}

TEST_CASE("what was logged at the moment of the checkpoint is there once, whatever came after it") {
  const char* name = GENERATE("jsonl", "csv", "tensorboard", "wandb", "swanlab", "comet");
  CAPTURE(name);
  TemporaryFolder whole, resumed;
  State place;
  for (const TemporaryFolder* folder : {&whole, &resumed}) {
    const auto tracker = started(name, *folder, {});
    log_at_seven(*tracker, "early", 1234567.5);
    place = tracker->place();
    log_at_seven(*tracker, "late", 7654321.5);
  }
  CHECK_FALSE(place.empty());
  for (int attempt = 0; attempt < 2; ++attempt)
    log_at_seven(*started(name, resumed, place), "late", 7654321.5);
  for (const std::string when : {"early", "late"}) {
    CHECK(times(whole, when + "_record") >= 1);
    for (const char* what : {"_record", "_text", "_image", "_histogram", " png"}) {
      INFO(when << what);
      CHECK(times(resumed, when + what) == times(whole, when + what));
    }
  }
  for (const char* value : {"1234567.5", "7654321.5"}) CHECK(times(resumed, value) == times(whole, value));
}

TEST_CASE("a run that is resumed twice keeps what each attempt logged before its last checkpoint") {
  const std::string name = GENERATE("jsonl", "csv", "tensorboard", "wandb", "swanlab", "comet");
  CAPTURE(name);
  TemporaryFolder folder;
  std::optional<State> place;
  for (const std::string when : {"first", "second"}) {
    const auto tracker = started(name.c_str(), folder, place);
    log_at_seven(*tracker, when, 1);
    place = tracker->place();
    log_at_seven(*tracker, "late", 2);
  }
  started(name.c_str(), folder, place);
  if (name == "csv") {  // columns stay
    CHECK(read_text(folder / "metrics.csv") ==
          "step,epoch,time,first_record,late_record,second_record\n7,0.5,0,1,,\n7,0.5,0,,,1\n");
  } else {
    CHECK(times(folder, "first_record") >= 1);
    CHECK(times(folder, "second_record") >= 1);
    CHECK(times(folder, "late_record") == 0);
  }
}

TEST_CASE("texts.jsonl holds every text, and of a resumed run those up to the checkpoint") {
  TemporaryFolder folder;
  const auto log_texts = [&](std::optional<std::int64_t> resumed_at, std::vector<std::int64_t> steps) {
    auto tracker = part<TrackerKind>("jsonl").build({folder.path()});
    RunFacts facts{"x", folder.path(), {}, {}};
    facts.resumed_at = resumed_at;
    tracker->start(facts);
    for (const std::int64_t step : steps) tracker->text("a tag", "two\nlines", step);
  };
  log_texts({}, {});
  CHECK_FALSE(std::filesystem::exists(folder / "texts.jsonl"));
  log_texts({}, {1, 2, 3});
  log_texts(1, {2});
  CHECK(read_text(folder / "texts.jsonl") ==
        "{\"step\":1,\"tag\":\"a tag\",\"text\":\"two\\nlines\"}\n"
        "{\"step\":2,\"tag\":\"a tag\",\"text\":\"two\\nlines\"}\n");
}

TEST_CASE("csv of a resumed run is cut after the checkpoint, its header of several lines aside") {
  TemporaryFolder folder;
  run("csv", folder, {}, {at(1, "two\nlines"), at(2, "two\nlines"), at(12, "two\nlines"), at(3, "b")});
  run("csv", folder, 2, {at(3, "b")});
  CHECK(read_text(folder / "metrics.csv") ==
        "step,epoch,time,\"two\nlines\",b\n1,0,0,1,\n2,0,0,2,\n3,0,0,,3\n");
}

// The files of a folder that are not the user's, and whether one of them holds this text in its name or its
// bytes.
bool mentions(const TemporaryFolder& folder, const std::string& text) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path())) {
    if (!entry.is_regular_file() || entry.path().filename() == "mine.txt") continue;
    if (entry.path().filename().string().find(text) != std::string::npos) return true;
    if (read_text(entry.path()).find(text) != std::string::npos) return true;
  }
  return false;
}

// As a run does that logs an image, a text and metrics from step 0 on.
void log_all(const char* name, const TemporaryFolder& folder, std::optional<std::int64_t> resumed_at,
             const std::string& tag, const RunEnd* end = nullptr) {
  auto tracker = part<TrackerKind>(name).build({folder.path()});
  RunFacts facts{"x", folder.path(), {}, {{tag, std::int64_t{1}}}};
  facts.id = "0123456789abcdef0123456789abcdef";
  facts.started_at = 1700000000;
  facts.resumed_at = resumed_at;
  tracker->start(facts);
  tracker->image(tag, {"png", 1, 1}, 0);
  tracker->text(tag, tag, 0);
  for (std::int64_t step = 0; step < 3; ++step) tracker->log(at(step, tag.c_str()));
  tracker->flush();
  if (end) tracker->finish(*end);
}

TEST_CASE(
    "a run that starts over in its folder leaves nothing of the earlier attempt, and what is the user's") {
  const char* name = GENERATE("jsonl", "csv", "tensorboard", "wandb", "swanlab", "comet");
  const bool ended = GENERATE(false, true);
  CAPTURE(name, ended);
  TemporaryFolder folder;
  const RunEnd failed{Outcome::failed, "earlier", 1700000001};
  log_all(name, folder, {}, "earlier", ended ? &failed : nullptr);
  REQUIRE(mentions(folder, "earlier"));
  std::vector<std::filesystem::path> folders{folder.path()};
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path())) {
    if (entry.is_directory() && entry.path().string().find("media") == std::string::npos)
      folders.push_back(entry.path());
  }
  for (const auto& each : folders) std::ofstream(each / "mine.txt") << "mine";

  log_all(name, folder, -1, "later");
  CHECK_FALSE(mentions(folder, "earlier"));
  CHECK(mentions(folder, "later"));
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path()))
    CHECK(entry.path().extension() != ".zip");  // comet's, made at the end of the earlier attempt
  for (const auto& each : folders) CHECK(read_text(each / "mine.txt") == "mine");
}

TEST_CASE("a resumed run does not keep how the earlier attempt ended") {
  const char* name = GENERATE("swanlab", "comet");
  CAPTURE(name);
  TemporaryFolder folder;
  const RunEnd failed{Outcome::failed, "out of memory", 1700000001};
  log_all(name, folder, {}, "x", &failed);
  REQUIRE(mentions(folder, "out of memory"));
  log_all(name, folder, 2, "x");
  CHECK_FALSE(mentions(folder, "out of memory"));
}

TEST_CASE("a resumed run whose place is unknown does not keep texts after its checkpoint either") {
  const auto [name, text] = GENERATE(std::pair<const char*, const char*>{"wandb", "late words"},
                                     std::pair<const char*, const char*>{"swanlab", "note-7.txt"});
  CAPTURE(name);
  TemporaryFolder folder;
  RunFacts facts{"x", folder.path(), {}, {}};
  facts.id = "0123456789abcdef0123456789abcdef";
  const auto log_names = [&](const std::string& what) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path()))
      if (entry.path().extension() == "." + std::string(name))
        return read_text(entry.path()).find(what) != std::string::npos;
    return false;
  };
  const auto before = part<TrackerKind>(name).build({folder.path()});
  before->start(facts);
  before->text("note", "late words", 7);
  before->flush();
  REQUIRE(log_names(text));
  facts.resumed_at = 5;
  part<TrackerKind>(name).build({folder.path()})->start(facts);
  CHECK(log_names("note"));  // that there is such a text
  CHECK_FALSE(log_names(text));
}

TEST_CASE("comet continues its messages without the half line that a killed process left") {
  TemporaryFolder folder;
  log_all("comet", folder, {}, "x");
  const auto messages = folder / "comet/0123456789abcdef0123456789abcdef-messages.json";
  std::ofstream(messages, std::ios::app) << R"({"type":"metric_msg","payl)";
  log_all("comet", folder, 2, "x");
  std::ifstream file(messages);
  for (std::string line; std::getline(file, line);) CHECK(nlohmann::json::accept(line));
}

TEST_CASE("a file that a full disk left empty is begun anew") {
  const char* name = GENERATE("wandb", "swanlab", "comet");
  CAPTURE(name);
  TemporaryFolder folder;
  const auto start = [&] {
    RunFacts facts{"the name", folder.path(), {}, {}};
    facts.id = "0123456789abcdef0123456789abcdef";
    part<TrackerKind>(name).build({folder.path()})->start(facts);
  };
  start();
  REQUIRE(mentions(folder, "the name"));
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path()))
    if (entry.is_regular_file()) std::filesystem::resize_file(entry.path(), 0);
  start();
  CHECK(mentions(folder, "the name"));
}

TEST_CASE("tensorboard leaves the event files of other runs in its folder alone when a run starts over") {
  TemporaryFolder folder;
  std::filesystem::create_directories(folder / "tensorboard");
  const auto theirs = folder / "tensorboard/events.out.tfevents.1.host.1.0.fedcba9876543210fedcba9876543210";
  std::ofstream(theirs) << "another run";
  log_all("tensorboard", folder, {}, "earlier");
  log_all("tensorboard", folder, -1, "later");
  CHECK(read_text(theirs) == "another run");
  CHECK_FALSE(mentions(folder, "earlier"));
}

}  // namespace
}  // namespace runner
