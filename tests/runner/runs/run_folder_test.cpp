#include "runner/runs/run_folder.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch_all.hpp>
#include <fstream>
#include <set>
#include <thread>

#include "registry/base/machine.hpp"
#include "tests/support/files.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace runner;
using namespace runner::testing;
namespace fs = std::filesystem;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("a run's folder must be new, empty or hold a run") {
  const TemporaryFolder scratch;
  RunSection run;
  run.dir = scratch.path() / "a" / "b";
  {
    const RunFolder made = RunFolder::create(run);
  }
  CHECK(fs::is_directory(*run.dir));
  {
    const RunFolder again = RunFolder::create(run);
  }  // still empty
  CHECK_FALSE(RunFolder::find(run));
  std::ofstream(*run.dir / "metrics.jsonl") << "{}\n";
  CHECK_THROWS_WITH(RunFolder::create(run), ContainsSubstring("not empty"));
  CHECK_THROWS_WITH(RunFolder::find(run), ContainsSubstring("not a run"));
  std::ofstream(*run.dir / "recipe.toml") << "\n";
  CHECK(RunFolder::find(run));
  run.dir = *run.dir / "metrics.jsonl";
  CHECK_THROWS_WITH(RunFolder::find(run), ContainsSubstring("not a folder"));
}

TEST_CASE("a start that was cut short before it wrote its recipe can be repeated in the same folder") {
  const TemporaryFolder scratch;
  RunSection run;
  run.dir = scratch.path() / "run";
  for (const char* name :
       {".lock", "plugins/model.so", "plugins/model.so.4711.part", "plugins.json", ".plugins.json.aB3dEf",
        ".recipe.toml.4711-12", "started_from.txt", ".started_from.txt.4711-12"})
    write_file(*run.dir / name, "left");
  CHECK_FALSE(RunFolder::find(run));
  const RunFolder again = RunFolder::create(run);
}

TEST_CASE("a run folder that cannot be reached is named with a remedy") {
  const TemporaryFolder folder;
  std::filesystem::create_symlink("loop", folder / "loop");
  for (const auto& unreachable : {folder / "loop", folder / std::string(300, 'x')}) {
    RunSection run;
    run.dir = unreachable;
    CHECK_THROWS_WITH(RunFolder::find(run),
                      ContainsSubstring("cannot use the run folder") &&
                          ContainsSubstring("set run.dir to a folder that can be written"));
  }
}

TEST_CASE("only one process writes a run folder, and a lock that nobody holds is no obstacle") {
  const TemporaryFolder scratch;
  RunSection run;
  run.dir = scratch.path() / "run";
  {
    const RunFolder folder = RunFolder::create(run);
    const auto owner = RunFolder::owner(*run.dir);
    REQUIRE(owner);
    CHECK(owner->pid == ::getpid());
    CHECK_THROWS_WITH(RunFolder::open(*run.dir),
                      ContainsSubstring("in use by process " + std::to_string(::getpid())));
  }
  CHECK_FALSE(RunFolder::owner(*run.dir));
  const RunFolder again = RunFolder::open(*run.dir);
}

TEST_CASE("whoever asks for the owner of a run folder does not keep a run from starting") {
  const TemporaryFolder scratch;
  RunSection run;
  run.dir = scratch.path() / "run";
  {
    const RunFolder made = RunFolder::create(run);
  }
  std::atomic<bool> done = false;
  std::jthread asks([&] {
    while (!done) RunFolder::owner(*run.dir);
  });
  for (int i = 0; i < 300; ++i) CHECK_NOTHROW(RunFolder::open(*run.dir));
  done = true;
}

TEST_CASE("an owner that is not the process of the note is not named") {
  const TemporaryFolder scratch;
  RunSection run;
  run.dir = scratch.path() / "run";
  const RunFolder folder = RunFolder::create(run);
  const std::string note = read_text(*run.dir / ".lock");
  std::ofstream(*run.dir / ".lock") << ::getppid() << " " << host_name() << " 1\n";
  CHECK_FALSE(RunFolder::owner(*run.dir));  // a later process of the same number
  CHECK_THROWS_WITH(RunFolder::open(*run.dir), ContainsSubstring("in use: "));
  std::ofstream(*run.dir / ".lock") << "17 elsewhere 1\n";
  REQUIRE(RunFolder::owner(*run.dir));  // another machine's processes cannot be looked at
  CHECK(RunFolder::owner(*run.dir)->host == "elsewhere");
  std::ofstream(*run.dir / ".lock") << note;
  CHECK(RunFolder::owner(*run.dir)->pid == ::getpid());
}

TEST_CASE("a run folder with a pipe in place of a file is refused, and does not make anyone wait") {
  const TemporaryFolder scratch;
  for (const char* name : {".lock", "metrics.jsonl"}) {
    REQUIRE(::mkfifo((scratch / name).c_str(), 0600) == 0);
    CHECK_FALSE(RunFolder::owner(scratch.path()));
    CHECK_THROWS_WITH(RunFolder::open(scratch.path()),
                      ContainsSubstring((scratch / name).string() + " is a pipe"));
    fs::remove(scratch / name);
  }
}

TEST_CASE("what killed writes have left is cleared, and nothing else") {
  const TemporaryFolder scratch;
  RunSection run;
  run.dir = scratch.path() / "run";
  fs::create_directories(*run.dir / "best");
  for (const char* name :
       {"recipe.toml", "model.safetensors", ".model.safetensors.mine", ".notes.md.aB3dEf", ".gitignore"})
    std::ofstream(*run.dir / name) << "kept";
  for (const char* name : {".best.safetensors.aB3dEf", ".model.safetensors.Xx19aa", ".result.json.4711-12",
                           "best/.step-00000010.safetensors.77-1"})
    std::ofstream(*run.dir / name) << "left";
  CHECK(RunFolder::find(run));
  std::set<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(*run.dir))
    names.insert(entry.path().filename().string());
  CHECK(names == std::set<std::string>{".gitignore", ".lock", ".model.safetensors.mine", ".notes.md.aB3dEf",
                                       "best", "model.safetensors", "recipe.toml"});
}

TEST_CASE("runs that start in the same second get folders of their own") {
  const TemporaryFolder scratch;
  const fs::path before = fs::current_path();
  fs::current_path(scratch.path());
  RunSection run;
  run.name = "twice";
  const RunFolder first = RunFolder::create(run), second = RunFolder::create(run);
  CHECK(first.path() != second.path());
  CHECK(first.path().parent_path() == fs::path("runs/twice"));
  fs::current_path(before);
}

TEST_CASE("a temporary run folder leaves nothing behind") {
  fs::path path;
  {
    const RunFolder folder = RunFolder::make_temporary();
    path = folder.path();
    folder.write("recipe.toml", "a = 1\n");
    CHECK(fs::exists(path / "recipe.toml"));
  }
  CHECK_FALSE(fs::exists(path));
}

TEST_CASE("a run folder that cannot be examined for a moment is not taken for deleted") {
  const TemporaryFolder scratch;
  const fs::path above = scratch / "a", aside = scratch / "b";
  RunSection run;
  run.dir = above / "run";
  const RunFolder folder = RunFolder::create(run);
  folder.require_there();
  fs::rename(above, aside);
  CHECK_THROWS_WITH(folder.require_there(), ContainsSubstring("deleted or moved"));
  fs::create_symlink("a", above);  // the system refuses to follow it
  CHECK_NOTHROW(folder.require_there());
  fs::remove(above);
  fs::rename(aside, above);
  fs::remove_all(*run.dir);
  CHECK_THROWS_WITH(folder.require_there(), ContainsSubstring("deleted or moved"));
  write_file(*run.dir, "no folder");
  CHECK_THROWS_WITH(folder.require_there(), ContainsSubstring("deleted or moved"));
}

TEST_CASE("what a killed process has left in the temporary folder is removed by the next one") {
  const TemporaryFolder scratch;
  const char* const before = getenv("TMPDIR");
  const std::string old = before ? before : "";
  setenv("TMPDIR", scratch.path().c_str(), 1);
  const auto left = [&](const char* name, const std::string& note) {
    write_file(scratch / name / ".lock", note);
    write_file(scratch / name / "log.txt", "lines");
    fs::last_write_time(scratch / name / ".lock", fs::file_time_type::clock::now() - std::chrono::minutes(2));
  };
  const std::string note = "4711 " + host_name() + " 17\n";
  left("runner-aB3dEf", note);
  left("runner-starts", note);
  fs::last_write_time(scratch / "runner-starts" / ".lock", fs::file_time_type::clock::now());
  left("runner-others", "");       // of another program
  left("runner-elsewhere", note);  // not a name that is made here
  fs::create_directory_symlink("runner-elsewhere", scratch / "runner-linked");
  {
    const RunFolder held = RunFolder::make_temporary();
    fs::last_write_time(held.file(".lock"), fs::file_time_type::clock::now() - std::chrono::minutes(2));
    const RunFolder next = RunFolder::make_temporary();
    CHECK(fs::exists(held.path()));
  }
  CHECK_FALSE(fs::exists(scratch / "runner-aB3dEf"));
  for (const char* name : {"runner-starts", "runner-others", "runner-elsewhere"})
    CHECK(fs::exists(scratch / name / "log.txt"));
  before ? setenv("TMPDIR", old.c_str(), 1) : unsetenv("TMPDIR");
}
