#include <catch2/catch_all.hpp>

#include "tests/runner/cli/program.hpp"
#include "tests/support/files.hpp"

namespace runner::testing {
namespace {

using Catch::Matchers::ContainsSubstring;

Outcome launched(const std::string& gpus, std::map<std::string, std::string> environment) {
  const Program program{.environment = std::move(environment)};
  return program.run({"launch", "--gpus", gpus, (source_folder() / "recipes/shapes.toml").string()});
}

TEST_CASE("GPUs that CUDA_VISIBLE_DEVICES hides are refused", "[cli]") {
  const Outcome hidden = launched("0,2", {{"CUDA_VISIBLE_DEVICES", "4,5"}});
  CHECK(hidden.code == 2);
  CHECK_THAT(hidden.err, ContainsSubstring("there is no GPU 2 among the 2 that CUDA_VISIBLE_DEVICES lists"));
  CHECK(launched("0", {{"CUDA_VISIBLE_DEVICES", ""}}).code == 2);
}

TEST_CASE("two ranks do not share a GPU", "[cli]") {
  const Outcome twice = launched("1,1", {});
  CHECK(twice.code == 2);
  CHECK_THAT(twice.err, ContainsSubstring("--gpus names GPU 1 twice"));
}

}  // namespace
}  // namespace runner::testing
