#include "runner/plugins/find_plugin.hpp"

#include <catch2/catch_all.hpp>

#include "registry/files/sha256.hpp"
#include "runner/plugins/plugin_error.hpp"
#include "tests/support/temporary_folder.hpp"

namespace runner {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::ContainsSubstring;

struct Fixture {
  Fixture() {
    for (const char* name :
         {"own/libmine.so", "own/deep/libinner.so", "shared/libtheirs.so", "away/libfar.so"}) {
      fs::create_directories((folder / name).parent_path());
      std::ofstream(folder / name) << "x";
    }
    fs::create_symlink(folder / "away/libfar.so", folder / "own/liblink.so");
    fs::create_symlink(folder / "own/libmine.so", folder / "own/libalias.so");
    trusted().add_plugin(folder / "own/libmine.so", sha256_of_file(folder / "own/libmine.so"));
  }

  Trusted trusted() const { return Trusted({{"XDG_CONFIG_HOME", (folder / "config").string()}}); }

  Origin in_recipe(const char* file = "own/recipe.toml") const {
    return {std::make_shared<Source>(Source{Source::Kind::file, (folder / file).string(), ""}), 1, 1};
  }
  Origin typed() const {
    return {std::make_shared<Source>(Source{Source::Kind::argument, "plugins", ""}), 1, 1};
  }

  std::string found(const std::string& name, const Origin& origin) const {
    return find_plugin(name, origin, {folder / "own", {folder / "shared"}, trusted()})
        .lexically_relative(folder.path())
        .string();
  }

  testing::TemporaryFolder folder;
};

}  // namespace

TEST_CASE_METHOD(Fixture, "plugins: a recipe finds what lies beside it or on the path", "[plugins]") {
  CHECK(found("libmine.so", in_recipe()) == "own/libmine.so");
  CHECK(found("mine", in_recipe()) == "own/libmine.so");
  CHECK(found("deep/inner", in_recipe()) == "own/deep/libinner.so");
  CHECK(found("libtheirs.so", in_recipe()) == "shared/libtheirs.so");
  CHECK(found("libalias.so", in_recipe()) == "own/libalias.so");  // a link that stays inside
}

TEST_CASE_METHOD(Fixture, "plugins: code beside a recipe has to be trusted, as it is", "[plugins]") {
  const fs::path mine = folder / "own/libmine.so", copy = folder / "own/deep/libinner.so";
  CHECK(found("deep/inner", in_recipe()) == "own/deep/libinner.so");  // the same bytes are the same code
  std::ofstream(mine) << "other code";
  CHECK_THROWS_WITH(found("mine", in_recipe()), ContainsSubstring("has changed since you trusted it"));
  std::ofstream(mine) << "loads $ORIGIN/libhelper.so";
  trusted().add_plugin(mine, sha256_of_file(mine));
  CHECK(found("mine", in_recipe()) == "own/libmine.so");
  fs::copy_file(mine, copy, fs::copy_options::overwrite_existing);  // beside it there may be another helper
  CHECK_THROWS_WITH(found("deep/inner", in_recipe()), ContainsSubstring("that you have not trusted yet"));
  CHECK(trusted().lines().size() == 1);  // the build before is forgotten
}

TEST_CASE_METHOD(Fixture, "plugins: a recipe cannot reach anything else", "[plugins]") {
  const std::string far = (folder / "away/libfar.so").string();
  CHECK_THROWS_WITH(found(far, in_recipe()), ContainsSubstring("an absolute path"));
  CHECK_THROWS_WITH(found("../away/libfar.so", in_recipe()),
                    ContainsSubstring("is outside the recipe's folder"));
  CHECK_THROWS_WITH(found("liblink.so", in_recipe()), ContainsSubstring("a symlink that points outside"));
  CHECK_THROWS_WITH(found("libfar.so", in_recipe()), ContainsSubstring("there is no plugin"));
}

// Or else a recipe could trust any folder by extending a file in it.
TEST_CASE_METHOD(Fixture, "plugins: a file that the recipe extends can name what lies in the recipe's folder",
                 "[plugins]") {
  CHECK(found("libinner.so", in_recipe("own/deep/base.toml")) == "own/deep/libinner.so");
  CHECK(found("libtheirs.so", in_recipe("away/base.toml")) == "shared/libtheirs.so");
  CHECK_THROWS_WITH(found("libfar.so", in_recipe("away/base.toml")),
                    ContainsSubstring("away/base.toml, which is outside the recipe's folder"));
}

TEST_CASE_METHOD(Fixture, "plugins: what the user types may lie anywhere, and stands for its name",
                 "[plugins]") {
  const fs::path far = folder / "away/libfar.so";
  CHECK(find_plugin(far.string(), typed(), {}) == far);
  CHECK(find_plugin("libfar.so", in_recipe(), {folder / "own", {far}}) == far);
  CHECK(find_plugin("far", in_recipe(), {folder / "own", {far}}) == far);
}

TEST_CASE("plugins: the path is files and folders between colons", "[plugins]") {
  CHECK(plugin_path({}).empty());
  CHECK(plugin_path({{"RUNNER_PLUGIN_PATH", ":a:/b/c.so::"}}) == std::vector<fs::path>{"a", "/b/c.so"});
}

}  // namespace runner
