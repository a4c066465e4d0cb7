#include <catch2/catch_all.hpp>

#include "components/weights/safetensors.hpp"
#include "tests/runner/cli/program.hpp"
#include "tests/runner/predict/trained_runs.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace runner;
using namespace runner::testing;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("offload: from the command line", "[offload][cli]") {
  const TemporaryFolder folder;
  leave_run(folder.path(), "name = \"mlp\"", images);
  const std::string run = folder.path().string();
  write_safetensors(folder / "x.safetensors", {{"input", examples(images).input}});
  const auto predicted = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"predict", run, (folder / "x.safetensors").string()});
    const auto outcome = Program{}.run(words);
    INFO(outcome.err);
    CHECK(outcome.code == 0);
    return outcome.out;
  };
  const std::string expected = predicted({});
  CHECK(predicted({"--offload"}) == expected);
  CHECK(predicted({"--offload", "--device-map", "fc1=cpu"}) == expected);
  CHECK(predicted({"--offload", "--device-map", "auto"}) == expected);

  // A file of Python's torch.save as well.
  const std::string pickled = (folder / "model.pt").string();
  CHECK(Program{}.run({"export", run, "-o", pickled}).code == 0);
  CHECK(predicted({"--weights", pickled}) == expected);
  CHECK(predicted({"--weights", pickled, "--offload"}) == expected);

  const auto alone = Program{}.run({"predict", run, "x", "--device-map", "auto"});
  CHECK(alone.code == 2);
  CHECK_THAT(alone.err, ContainsSubstring("add --offload"));
  for (const std::string command : {"predict", "sample", "eval"}) {
    std::vector<std::string> words{command, run, "--offload", "--device-map", "cpu"};
    if (command == "predict") words.push_back("x");
    const auto wrong = Program{}.run(words);
    CHECK(wrong.code == 2);
    CHECK_THAT(wrong.err, ContainsSubstring("PATTERN=DEVICE"));
  }
}

TEST_CASE("offload: evaluating gives the same numbers", "[offload][cli]") {
  const TemporaryFolder folder;
  leave_run(folder.path(), "name = \"simple_cnn\"", images);
  write_file(folder / "recipe.toml", R"(
model = { name = "simple_cnn" }
dataset = { name = "synthetic", classes = 5, shape = [3, 16, 16], train = 20, eval = 30 }
optimizer = { name = "adamw" }
loader = { batch_size = 8 }
train = { max_steps = 1 }
eval = { metric = [{ name = "accuracy" }, { name = "loss" }] }
)");
  const auto evaluated = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"eval", "--json"});
    const auto outcome = Program{}.run(words);
    INFO(outcome.err);
    CHECK(outcome.code == 0);
    return outcome.out;
  };
  const std::string run = folder.path().string();
  CHECK(evaluated({run, "--offload"}) == evaluated({run}));
  const std::string recipe = (folder / "recipe.toml").string();
  CHECK_THROWS_WITH(Program{}.run({"eval", recipe, "--offload"}), ContainsSubstring("--weights FILE"));
  CHECK_THROWS_WITH(Program{}.run({"eval", recipe, "--offload", "model.strict=false",
                                   "model.weights=" + (folder / "model.safetensors").string()}),
                    ContainsSubstring("model.strict"));
}
