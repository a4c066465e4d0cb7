#include <catch2/catch_all.hpp>

#include "tests/support/decoded_recipe.hpp"
#include "tests/support/recipes.hpp"

using namespace runner;
using namespace runner::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

// What is wrong with a recipe that has these settings in [distributed], and more before that.
std::string complaint(const std::string& distributed, const std::string& more = "") {
  const Recipes files(R"(
[model]
name = "mlp"
[dataset]
name = "synthetic"
[optimizer]
name = "sgd"
[train]
max_steps = 1
)" + more + "\n[distributed]\n" +
                      distributed);
  try {
    decoded_recipe(files);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("sharding options: what has no effect without zero3 is refused", "[zero3]") {
  const std::string setting =
      GENERATE("unit_size = \"1MiB\"", "prefetch = false", "reshard_after_forward = false", "shard_group = 2",
               "gather = \"full\"", "offload = \"disk\"");
  CAPTURE(setting);
  CHECK(complaint("strategy = \"zero3\"\n" + setting) == "");
  CHECK(complaint("strategy = \"fsdp\"\n" + setting) == "");
  for (const std::string strategy : {"ddp", "zero1", "zero2", "local_sgd"})
    CHECK_THAT(complaint("strategy = \"" + strategy + "\"\n" + setting),
               ContainsSubstring("applies only with strategy = \"zero3\""));
}

TEST_CASE("sharding options: what zero3 cannot do is refused", "[zero3]") {
  const auto [setting, why] = GENERATE(table<std::string, std::string>(
      {{"sync_batch_norm = true", "works only with strategy = \"ddp\", \"zero1\" or \"zero2\""},
       {"reproducible = true", "works only with strategy = \"ddp\""},
       {"compression = \"powersgd\"", "needs all gradients on all ranks"},
       {"bucket_size = \"1MiB\"", "use unit_size"},
       {"average_every = 4", "applies only with strategy = \"local_sgd\""}}));
  CAPTURE(setting);
  CHECK_THAT(complaint("strategy = \"zero3\"\n" + setting), ContainsSubstring(why));
}

TEST_CASE("rank options: a timeout that no clock can count is refused") {
  for (const std::string timeout : {"1e10s", "0.0001s"})
    CHECK_THAT(complaint("timeout = \"" + timeout + "\""),
               ContainsSubstring("must be from a millisecond to a billion seconds"));
  CHECK(complaint("timeout = \"1e9s\"") == "");
}

TEST_CASE("sharding options: weights are gathered in a compute type only where autocast casts them",
          "[zero3]") {
  const std::string compute = "strategy = \"zero3\"\ngather = \"compute\"";
  for (const std::string precision : {"bf16", "fp16"})
    CHECK(complaint(compute, "[precision]\nname = \"" + precision + "\"") == "");
  for (const std::string precision : {"fp32", "fp8"})
    CHECK_THAT(complaint(compute, "[precision]\nname = \"" + precision + "\""),
               ContainsSubstring("needs a precision that casts the weights") &&
                   ContainsSubstring("with precision \"" + precision + "\"") &&
                   ContainsSubstring("delete it"));
}

TEST_CASE("sharding options: an offload that would change nothing is refused", "[zero3]") {
  CHECK_THAT(complaint("strategy = \"zero3\"\noffload = \"cpu\"", "[run]\ndevice = \"cpu\""),
             ContainsSubstring("has them already") && ContainsSubstring("\"disk\""));
  CHECK_THAT(complaint("strategy = \"zero3\"\noffload_dir = \"somewhere\""),
             ContainsSubstring("applies only with offload = \"disk\""));
  CHECK(complaint("strategy = \"zero3\"\noffload = \"disk\"\noffload_dir = \"somewhere\"") == "");
}
