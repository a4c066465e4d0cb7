#include <catch2/catch_all.hpp>

#include "registry/files/file_lock.hpp"
#include "tests/runner/cli/program.hpp"
#include "tests/support/files.hpp"
#include "tests/support/temporary_folder.hpp"

namespace runner::testing {
namespace {

using Catch::Matchers::ContainsSubstring;

TEST_CASE("a warning about the recipe of a sweep is printed once, not for every value", "[cli]") {
  const TemporaryFolder folder;
  write_file(folder / "sweep.json", "{}");  // of another sweep: this one is refused before its first trial
  const Program program{.environment = {{"RUNNER_FOO", "1"}}};
  const Outcome refused =
      program.run({"sweep", (source_folder() / "recipes/shapes.toml").string(),
                   "optimizer.lr=choice(0.1,0.01,0.001)", "--dir", folder.path().string()});
  CHECK(refused.code == 2);
  CHECK_THAT(refused.err, ContainsSubstring("holds another sweep"));
  const auto first = refused.err.find("RUNNER_FOO");
  REQUIRE(first != std::string::npos);
  CHECK(refused.err.find("environment: warning", first) == std::string::npos);
}

TEST_CASE("a sweep keeps its overrides without a password", "[cli]") {
  const TemporaryFolder folder;
  const FileLock other(folder / "sweep.lock");  // so that no trial starts
  const std::vector<std::string> words{"sweep",
                                       (source_folder() / "recipes/shapes.toml").string(),
                                       "optimizer.lr=choice(0.1,0.01)",
                                       "dataset={name=\"cifar10\", url=\"http://me:hunter22@localhost/x\"}",
                                       "run.seed=7",
                                       "--dir",
                                       folder.path().string()};
  CHECK_THROWS_WITH(Program{}.run(words), ContainsSubstring("another process is running the sweep"));
  CHECK_THAT(read_text(folder / "sweep.json"), ContainsSubstring("\"dataset=..\"") &&
                                                   ContainsSubstring("\"run.seed=7\"") &&
                                                   !ContainsSubstring("hunter22"));
}

}  // namespace
}  // namespace runner::testing
