#include "runner/plugins/skeleton.hpp"

#include <catch2/catch_all.hpp>

#include "runner/plugins/plugin_error.hpp"
#include "tests/support/files.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace runner;
using namespace runner::testing;

// The class of the plugin would hide one that its code needs.
TEST_CASE("a plugin cannot have the name of a type that its code uses", "[plugins]") {
  const TemporaryFolder folder;
  const auto examples = source_folder() / "examples/plugin";
  const auto write = [&](const std::string& kind, const std::string& name) {
    write_skeleton(examples, kind, name, folder / (kind + "-" + name));
  };
  const auto kinds = skeleton_kinds(examples);
  REQUIRE(kinds.size() > 5);
  for (const std::string& kind : kinds) {
    INFO(kind);
    CHECK_THROWS_AS(write(kind, kind), PluginError);
    CHECK_FALSE(std::filesystem::exists(folder / (kind + "-" + kind)));
    CHECK_NOTHROW(write(kind, "my_" + kind));
  }
  CHECK_THROWS_WITH(write("model", "batch"), Catch::Matchers::ContainsSubstring("uses another Batch"));
  CHECK_NOTHROW(write("model", "linear"));  // used as torch::nn::Linear only
  CHECK_NOTHROW(write("model", "units"));   // only in a text
  CHECK_NOTHROW(write("model", "two_towers"));
  CHECK(std::filesystem::exists(folder / "model-two_towers/two_towers.cpp"));
}

TEST_CASE("a plugin cannot have the name of a target of CMake", "[plugins]") {
  CHECK(problem_of_plugin_name("test").ends_with("such as my_test"));
  CHECK_FALSE(problem_of_plugin_name("all").empty());
  CHECK(problem_of_plugin_name("tests").empty());
}
