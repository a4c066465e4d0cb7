#include "runner/cli/options/recipe_files.hpp"

#include <catch2/catch_all.hpp>

#include "tests/runner/cli/program.hpp"
#include "tests/support/files.hpp"
#include "tests/support/in_folder.hpp"
#include "tests/support/temporary_folder.hpp"

namespace runner::testing {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("only what can be run by name is listed", "[cli]") {
  const TemporaryFolder folder;
  write_file(folder / "recipes/mine.toml", "# A recipe of my own\n");
  write_file(folder / "recipes/.strange.toml", "");
  write_file(folder / "recipes/strange..dots.toml", "");
  fs::create_directory(folder / "recipes/strange_folder.toml");
  fs::create_symlink("me@host.4711", folder / "recipes/.#strange.toml");  // as Emacs locks a file
  fs::create_symlink("gone", folder / "recipes/strange_link.toml");
  const InFolder here(folder.path());
  const Outcome listed = Program{}.run({"list", "recipes"});
  CHECK(listed.code == 0);
  CHECK_THAT(listed.out, ContainsSubstring("mine") && ContainsSubstring("A recipe of my own"));
  CHECK_THAT(listed.out, !ContainsSubstring("strange"));
}

TEST_CASE("a folder does not hide a recipe of the same name, a file does", "[cli]") {
  const TemporaryFolder folder;
  write_file(folder / "recipes/mine.toml", "");
  const InFolder here(folder.path());
  CHECK(cli::find_recipe("mine", {}) == fs::path("recipes/mine.toml"));
  fs::create_directory("mine");
  CHECK(cli::find_recipe("mine", {}) == fs::path("recipes/mine.toml"));
  CHECK(cli::find_recipe("mine/", {}) == fs::path("mine/"));
  fs::remove("mine");
  write_file(folder / "mine", "");
  CHECK(cli::find_recipe("mine", {}) == fs::path("mine"));
  CHECK_FALSE(cli::find_recipe("no_such_recipe", {}));
}

TEST_CASE("commands take the recipe of a name that a folder has, too", "[cli]") {
  const TemporaryFolder folder;
  fs::create_directory(folder / "shapes");
  const InFolder here(folder.path());
  const std::string shown = Program{}.run({"show", "shapes"}).out;
  CHECK_THAT(shown, ContainsSubstring("simple_cnn"));
  CHECK_THAT(Program{}.run({"new", "shapes"}).out, ContainsSubstring("simple_cnn"));
  CHECK(Program{}.run({"shapes", "optimizer.lrr=1"}).err.find("is a folder") == std::string::npos);
}

TEST_CASE("the path of a plugin may not hold the character that separates paths", "[cli]") {
  const TemporaryFolder folder;
  fs::create_directory(folder / "a:b");
  const Outcome refused = Program{}.run({"list", "--plugin", (folder / "a:b").string()});
  CHECK(refused.code == 2);
  CHECK_THAT(refused.err, ContainsSubstring("contains a colon"));
}

}  // namespace
}  // namespace runner::testing
