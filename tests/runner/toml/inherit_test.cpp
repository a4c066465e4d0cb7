#include "runner/toml/inherit.hpp"

#include <catch2/catch_all.hpp>

#include <unistd.h>

#include "runner/toml/read_file.hpp"
#include "tests/support/recipes.hpp"

namespace runner {
namespace {

using Catch::Matchers::ContainsSubstring;
using testing::at;
using testing::Recipes;
using testing::toml;

}  // namespace

TEST_CASE("inherit: the file wins over what it extends, key by key", "[inherit]") {
  Recipes recipes("extends = 'base.toml'\n[model]\nwidth = 2\nlist = [9]\n");
  recipes.write("base.toml", "[model]\nwidth = 1\ndepth = 5\nlist = [1, 2, 3]\n[run]\nseed = 1\n");
  const Value tree = recipes.load();
  CHECK(to_toml(tree) == "{ model = { width = 2, depth = 5, list = [9] }, run = { seed = 1 } }");
  CHECK(recipes.without_folder(to_string(at(tree, "model.width").origin)) == "main.toml:3:9");
  CHECK(recipes.without_folder(to_string(at(tree, "model.depth").origin)) == "base.toml:3:9");
}

TEST_CASE("inherit: of several files the later wins", "[inherit]") {
  Recipes recipes("extends = ['one.toml', 'two.toml']\nd = 4\n");
  recipes.write("one.toml", "a = 1\nb = 1\nc = 1\nd = 1\n");
  recipes.write("two.toml", "extends = 'three.toml'\nb = 2\nd = 2\n");
  recipes.write("three.toml", "b = 3\nc = 3\n");
  const Value tree = recipes.load();
  CHECK(to_toml(tree) == "{ a = 1, b = 2, c = 3, d = 4 }");
  // Precedence is in the layers too.
  CHECK(at(tree, "a").origin.layer < at(tree, "c").origin.layer);
  CHECK(at(tree, "c").origin.layer < at(tree, "b").origin.layer);
  CHECK(at(tree, "b").origin.layer < at(tree, "d").origin.layer);
}

TEST_CASE("inherit: files are looked for beside the file that names them", "[inherit]") {
  Recipes recipes("extends = 'sub/base.toml'\n");
  recipes.write("sub/base.toml", "extends = '../root.toml'\nb = 2\n").write("root.toml", "a = 1\n");
  CHECK(to_toml(recipes.load()) == "{ a = 1, b = 2 }");
  recipes.write("absolute.toml", "extends = '" + (recipes.folder / "root.toml").string() + "'");
  CHECK(to_toml(recipes.load({}, "absolute.toml")) == "{ a = 1 }");
}

TEST_CASE("inherit: circles are found and named", "[inherit]") {
  Recipes recipes("extends = 'b.toml'\n");
  recipes.write("b.toml", "x = 1\nextends = ['c.toml']\n")
      .write("c.toml", "extends = './sub/../main.toml'\n");
  const std::string said = recipes.complaint();
  CHECK_THAT(said, ContainsSubstring("a recipe extends itself: main.toml -> b.toml -> c.toml -> main.toml"));
  CHECK_THAT(said, ContainsSubstring("c.toml:1:11: error:"));
  CHECK_THAT(Recipes("extends = 'main.toml'").complaint(), ContainsSubstring("main.toml -> main.toml"));
}

TEST_CASE("inherit: the same file twice is no circle", "[inherit]") {
  Recipes recipes("extends = ['a.toml', 'b.toml']\n");
  recipes.write("a.toml", "extends = 'base.toml'\na = 1\n").write("b.toml", "extends = 'base.toml'\nb = 1\n");
  recipes.write("base.toml", "c = 1\n");
  CHECK(to_toml(recipes.load()) == "{ c = 1, a = 1, b = 1 }");
}

TEST_CASE("inherit: chains and fans that never end are cut", "[inherit]") {
  Recipes chain;
  chain.write("main.toml", "extends = 'f0.toml'");
  for (int i = 0; i < 40; ++i)
    chain.write("f" + std::to_string(i) + ".toml", "extends = 'f" + std::to_string(i + 1) + ".toml'");
  CHECK_THAT(chain.complaint(), ContainsSubstring("more than 32 files deep"));
  Recipes fan;
  fan.write("main.toml", "extends = ['f0.toml', 'f0.toml']").write("f20.toml", "a = 1");
  for (int i = 0; i < 20; ++i) {
    const std::string next = "'f" + std::to_string(i + 1) + ".toml'";
    fan.write("f" + std::to_string(i) + ".toml", "extends = [" + next + ", " + next + "]");
  }
  CHECK_THAT(fan.complaint(), ContainsSubstring("extends more than 256 files in all"));
}

TEST_CASE("inherit: what cannot be extended is pointed at", "[inherit]") {
  Recipes recipes("extends = 'bas.toml'\n");
  recipes.write("base.toml", "");
  CHECK(recipes.complaint() ==
        "main.toml:1:11: error: bas.toml does not exist\n"
        "    1 | extends = 'bas.toml'\n"
        "      |           ^^^^^^^^^^\n"
        "  did you mean base.toml?\n");
  CHECK_THAT(Recipes("extends = 5").complaint(),
             ContainsSubstring("extends must name a file, or list several, not be an integer"));
  CHECK_THAT(Recipes("extends = ''").complaint(), ContainsSubstring("not be empty"));
  CHECK_THAT(Recipes("extends = ['', {}]").complaint(),
             ContainsSubstring("not be empty") && ContainsSubstring("not be a table"));
  CHECK_THAT(Recipes("extends = '.'").complaint(), ContainsSubstring("is a folder, not a recipe"));
  CHECK_THAT(Recipes("extends = ['no1.toml', 'no2.toml']").complaint(),
             ContainsSubstring("no1.toml does not exist") && ContainsSubstring("no2.toml does not exist"));
}

TEST_CASE("inherit: a mistake in an inherited file is reported in that file", "[inherit]") {
  Recipes recipes("extends = 'base.toml'\n");
  recipes.write("base.toml", "a = nope\n");
  CHECK_THAT(recipes.complaint(), ContainsSubstring("base.toml:1:5: error: not valid TOML"));
}

TEST_CASE("files: what is no readable text says why", "[files]") {
  Recipes recipes;
  CHECK(recipes.complaint() == "main.toml: error: does not exist\n");
  recipes.write("main.tml", "").write("mian.toml", "");
  CHECK(recipes.complaint() == "main.toml: error: does not exist\n  did you mean mian.toml?\n");
  recipes.load({}, "nowhere/x.toml");
  CHECK_THAT(recipes.said, ContainsSubstring("does not exist") && ContainsSubstring("there is no folder"));
  recipes.load({}, ".");
  CHECK_THAT(recipes.said, ContainsSubstring("is a folder, not a recipe"));
  recipes.write("main.toml", std::string("\x7F"
                                         "ELF\0\0\0",
                                         7));
  CHECK(recipes.complaint() == "main.toml: error: is a binary file, not a recipe\n");
  recipes.write("main.toml", "\xFF\xFE" + std::string("a\0=\0", 4));
  CHECK(recipes.complaint() == "main.toml: error: is UTF-16 text: save it as UTF-8\n");
  recipes.write("main.toml", std::string(50'000'000, '#'));
  CHECK(recipes.complaint() == "main.toml: error: is larger than 8 MB: that is not a recipe\n");
  recipes.load({}, "../../../../dev/zero");
  CHECK_THAT(recipes.said, ContainsSubstring("/dev/zero: error: is not a regular file"));
}

TEST_CASE("files: one that may not be read says so", "[files]") {
  Recipes recipes("a = 1");
  using std::filesystem::perms;
  std::filesystem::permissions(recipes.folder.path(), perms::owner_all | perms::others_exec);
  std::filesystem::permissions(recipes.folder / "main.toml", perms::none);
  const bool as_root = geteuid() == 0;  // root may read everything: be somebody else for a moment
  if (as_root) REQUIRE(seteuid(65534) == 0);
  const std::string said = recipes.complaint();
  if (as_root) REQUIRE(seteuid(0) == 0);
  CHECK(said == "main.toml: error: cannot be read: Permission denied\n");
}

TEST_CASE("files: a byte-order mark is no content", "[files]") {
  Recipes recipes(
      "\xEF\xBB\xBF"
      "a = 1\nb = oops\n");
  CHECK_THAT(recipes.complaint(), ContainsSubstring("main.toml:2:5: error"));
  recipes.write("main.toml",
                "\xEF\xBB\xBF"
                "a = 1\r\n");
  const Value tree = recipes.load();
  CHECK(to_toml(tree) == "{ a = 1 }");
  CHECK(at(tree, "a").origin.column == 5);
}

}  // namespace runner
