// The files beside the checkpoints: recipe.toml, result.json, model.safetensors, the best weights. Whatever
// call fails, and wherever the process is killed, each is the old one or the new one.
#include <catch2/catch_all.hpp>

#include "components/weights/safetensors.hpp"
#include "registry/base/log.hpp"
#include "registry/files/atomic_file.hpp"
#include "registry/files/folders.hpp"
#include "runner/runs/run_folder.hpp"
#include "tests/faults/failing_calls.hpp"
#include "tests/support/quiet.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace runner;
using namespace runner::testing;
namespace fs = std::filesystem;

namespace {

struct RunFile {
  const char* name;  // of the file
  void (*write)(const fs::path& folder, int version);
  int (*read)(const fs::path& file);  // the version; throws where it is not whole
};

void write_text(const fs::path& folder, int version) {
  AtomicFile file(folder / "result.json");
  file.write("{\"version\": " + std::to_string(version) + "}\n");
  file.commit();
}
int version_of_text(const fs::path& file) {
  for (const int version : {1, 2})
    if (read_text(file) == "{\"version\": " + std::to_string(version) + "}\n") return version;
  throw std::runtime_error("the text is not whole");
}

void write_weights(const fs::path& file, int version) {
  write_safetensors(file, {{"weight", torch::full({64}, version)}}, {{"format", "pt"}});
}
int version_of_weights(const fs::path& file) {
  return static_cast<int>(read_safetensors(file).at("weight")[63].item<double>());
}
void write_model(const fs::path& folder, int version) {
  write_weights(folder / "model.safetensors", version);
}
void write_best(const fs::path& folder, int version) {
  const fs::path own = folder / "best" / (std::to_string(version) + ".safetensors");
  fs::create_directory(folder / "best");
  write_weights(own, version);
  replace_by_link(folder / "best.safetensors", own);
}

constexpr RunFile kinds[] = {{"result.json", &write_text, &version_of_text},
                             {"model.safetensors", &write_model, &version_of_weights},
                             {"best.safetensors", &write_best, &version_of_weights}};

// The version that is there; 0: none.
int version_in(const fs::path& folder, const RunFile& kind) {
  return fs::exists(folder / kind.name) ? kind.read(folder / kind.name) : 0;
}

void check_nothing_is_left(const fs::path& folder) {
  clear_leftovers(folder);
  for (const auto& entry : fs::directory_iterator(folder))
    CHECK_FALSE(entry.path().filename().string().starts_with("."));
}

}  // namespace

TEST_CASE("files of a run: whatever call fails while one is written, it is the old one or the new one") {
  const RunFile kind = kinds[GENERATE(0, 1, 2)];
  const int before = GENERATE(0, 1);
  const int error = GENERATE(ENOSPC, EIO);
  const bool unnamed_files = GENERATE(true, false);
  CAPTURE(kind.name, before, error, unnamed_files);
  std::optional<NoUnnamedFiles> none;
  if (!unnamed_files) none.emplace();
  int number = 1;
  for (bool happened = true; happened; ++number) {
    const TemporaryFolder scratch;
    if (before > 0) kind.write(scratch.path(), before);
    std::string message;
    {
      const FailingCall failing(scratch.path().string(), number, error);
      try {
        kind.write(scratch.path(), 2);
      } catch (const std::exception& problem) {
        message = problem.what();
      }
      happened = failing.happened();
    }
    CAPTURE(number, message);
    const int version = version_in(scratch.path(), kind);
    if (message.empty()) {
      CHECK(version == 2);
    } else {
      CHECK_THAT(message, Catch::Matchers::ContainsSubstring(scratch.path().string()));
      CHECK((version == before || version == 2));
    }
    check_nothing_is_left(scratch.path());
  }
  CHECK(number > 6);
}

TEST_CASE("files of a run: wherever the process is killed, each is the old one or the new one") {
  const RunFile kind = kinds[GENERATE(0, 1, 2)];
  const int before = GENERATE(0, 1);
  CAPTURE(kind.name, before);
  int number = 1;
  for (bool crashed = true; crashed; ++number) {
    const TemporaryFolder scratch;
    if (before > 0) kind.write(scratch.path(), before);
    crashed = crashes_at(number, scratch.path().string(), [&] { kind.write(scratch.path(), 2); });
    CAPTURE(number);
    const int version = version_in(scratch.path(), kind);
    CHECK((version == 2 || (crashed && version == before)));
    check_nothing_is_left(scratch.path());
  }
  CHECK(number > 6);
}

TEST_CASE("files of a run: where there are no links, a run has no link to the latest") {
  const TemporaryFolder scratch;
  const fs::path before = fs::current_path();
  fs::current_path(scratch.path());
  const testing::Quiet quiet;
  RunSection run;
  run.name = "linked";
  int links = 0;
  {
    const FailingCall watched("runs/linked/.latest", 0, 0);
    const RunFolder folder = RunFolder::create(run);
    const auto calls = watched.calls();
    links = 1 + static_cast<int>(std::ranges::find(calls, "symlink", &SystemCall::name) - calls.begin());
  }
  CHECK(fs::is_symlink("runs/linked/latest"));
  fs::remove("runs/linked/latest");
  {
    const FailingCall failing("runs/linked/.latest", links, EPERM);
    CHECK_NOTHROW(RunFolder::create(run));
    CHECK(failing.name() == "symlink");
  }
  CHECK_FALSE(fs::exists("runs/linked/latest"));
  REQUIRE(log::warnings().size() == 1);
  CHECK_THAT(log::warnings()[0], Catch::Matchers::ContainsSubstring("continues without this link"));
  fs::current_path(before);
}
