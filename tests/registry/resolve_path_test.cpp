#include "registry/resolve_path.hpp"

#include <catch2/catch_all.hpp>

#include <pwd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "tests/support/files.hpp"

namespace runner {
namespace {

Origin in(Source::Kind kind, const std::string& name) {
  return {std::make_shared<const Source>(Source{kind, name, ""}), 1, 1, 1, 0};
}

std::string here(const std::string& path) { return (std::filesystem::current_path() / path).string(); }

TEST_CASE("a path in a recipe begins at the folder of that recipe", "[path]") {
  CHECK(resolve_path("data/x.csv", in(Source::Kind::file, "/recipes/mine.toml")) == "/recipes/data/x.csv");
  CHECK(resolve_path("../x.csv", in(Source::Kind::file, "/recipes/mine.toml")) == "/x.csv");
  CHECK(resolve_path("data/", in(Source::Kind::file, "/recipes/mine.toml")) == "/recipes/data");
  CHECK(resolve_path("x", in(Source::Kind::file, "sub/mine.toml")) == here("sub/x"));
  CHECK(resolve_path("/abs/x", in(Source::Kind::file, "/recipes/mine.toml")) == "/abs/x");
}

TEST_CASE("what was typed, and a default, begins at the current folder", "[path]") {
  CHECK(resolve_path("x", in(Source::Kind::argument, "dataset.dir")) == here("x"));
  CHECK(resolve_path("./x", in(Source::Kind::environment, "RUNNER_DATASET__DIR")) == here("x"));
  CHECK(resolve_path("x", {}) == here("x"));
  CHECK(resolve_path("", in(Source::Kind::file, "/recipes/mine.toml")) == "");
}

TEST_CASE("the slash that a shell puts after a folder does not count", "[path]") {
  CHECK(normal_path("a/b/") == "a/b");
  CHECK(normal_path("a/./../b//") == "b");
  CHECK(normal_path("/") == "/");
  CHECK(normal_path("") == "");
}

TEST_CASE("~ is the home folder, wherever it stands", "[path]") {
  const testing::EnvironmentVariable home("HOME", "/home/me");
  CHECK(resolve_path("~/x", in(Source::Kind::file, "/recipes/mine.toml")) == "/home/me/x");
  CHECK(resolve_path("~", in(Source::Kind::argument, "dataset.dir")) == "/home/me");
  CHECK(resolve_path("~other/x", in(Source::Kind::file, "/r/mine.toml")) == "/r/~other/x");
}

TEST_CASE("without HOME, the system knows the home folder", "[path]") {
  const passwd* user = ::getpwuid(::getuid());
  if (!user) SKIP("the system does not know this user");
  const testing::EnvironmentVariable home("HOME", "");
  CHECK(resolve_path("~/x", {}) == (std::filesystem::path(user->pw_dir) / "x").string());
}

TEST_CASE("a user without a home folder cannot write ~", "[path]") {
  if (::geteuid() != 0) SKIP("only root can become a user that does not exist");
  const testing::EnvironmentVariable home("HOME", "");
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    constexpr uid_t nobody_has = 1234567891;
    ::_exit(::setuid(nobody_has) == 0 && !resolve_path("~/x", {}) ? 0 : 1);
  }
  int status = 1;
  CHECK(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

}  // namespace
}  // namespace runner
