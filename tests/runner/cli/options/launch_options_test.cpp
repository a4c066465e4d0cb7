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

TEST_CASE("too many ranks are blamed on the option that asks for them", "[cli]") {
  const Outcome refused = Program{}.run({"launch", "--elastic", "2:70000", "--max-restarts", "1",
                                         (source_folder() / "recipes/shapes.toml").string()});
  CHECK(refused.code == 2);
  CHECK_THAT(refused.err, ContainsSubstring("--elastic asks for 70000 ranks"));
}

TEST_CASE("settings that do not fit the number of ranks are refused before any rank starts", "[cli]") {
  const std::string recipe = (source_folder() / "recipes/shapes.toml").string();
  const auto refused = [&](Program program, std::vector<std::string> words, const std::string& why) {
    const Outcome outcome = program.run(words);
    CHECK(outcome.code == 2);
    CHECK_THAT(outcome.err, ContainsSubstring("command line: error: [distributed]: " + why));
  };
  const std::string reproducible = "distributed.reproducible=true";
  refused({}, {"launch", "-n", "3", recipe, reproducible}, "\"reproducible\" = true needs a power of two");
  refused({}, {"launch", "-n", "16", recipe, reproducible}, "\"reproducible\" = true needs a power of two");
  refused({}, {"launch", "-n", "3", recipe, "distributed.strategy=zero3", "distributed.shard_group=2"},
          "\"shard_group\" = 2 must divide the number of ranks, which is 3");
  // The same in a rank that another launcher starts.
  const Program rank{.environment = {{"TORCHELASTIC_RUN_ID", "none"},
                                     {"RANK", "0"},
                                     {"WORLD_SIZE", "3"},
                                     {"LOCAL_RANK", "0"},
                                     {"LOCAL_WORLD_SIZE", "3"},
                                     {"MASTER_ADDR", "localhost"},
                                     {"MASTER_PORT", "29500"}}};
  refused(rank, {"run", recipe, reproducible}, "\"reproducible\" = true needs a power of two");
}

}  // namespace
}  // namespace runner::testing
