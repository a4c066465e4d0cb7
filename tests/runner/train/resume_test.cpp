// A run that is interrupted and continued ends with the bits of one that was not: for every optimizer,
// schedule, precision and hook that is registered, so that a new one is covered by itself.
#include <catch2/catch_all.hpp>

#include "runner/checkpoint/checkpoint_store.hpp"
#include "tests/support/resumed_runs.hpp"

using namespace runner;
using namespace runner::testing;

namespace {

// The rest of a recipe for data from small files.
constexpr const char* nine_steps = R"(
[loader]
batch_size = 4
[optimizer]
name = "adamw"
[train]
max_steps = 9
log_every = "2step"
[eval]
every = "4step"
[checkpoint]
every = "2step"
)";

std::vector<std::string> registered(std::string_view kind) { return Registry::of_linked().names(kind); }

}  // namespace

TEST_CASE("resume: every optimizer goes on with the same bits", "[resume]") {
  for (const std::string& name : registered("optimizer")) {
    DYNAMIC_SECTION(name) { compare(table_recipe, {"optimizer={name=\"" + name + "\", lr=0.01}"}, {6}); }
  }
}

TEST_CASE("resume: every schedule goes on with the same bits", "[resume]") {
  for (const std::string& name : registered("scheduler")) {
    DYNAMIC_SECTION(name) { compare(table_recipe, {"scheduler=" + usual_part(name)}, {7}); }
  }
}

TEST_CASE("resume: every precision goes on with the same bits", "[resume]") {
  for (const std::string& name : registered("precision")) {
    DYNAMIC_SECTION(name) { compare(table_recipe, {"precision=" + name}, {4, 9}); }
  }
}

TEST_CASE("resume: every hook goes on with the same bits", "[resume]") {
  for (const std::string& name : registered("hook")) {
    DYNAMIC_SECTION(name) { compare(table_recipe, {"hook=[" + usual_part(name) + "]"}, {5}); }
  }
}

TEST_CASE("resume: at any step, as often as one likes", "[resume]") {
  std::vector<std::int64_t> each;
  for (std::int64_t step = 1; step < last_step; ++step) each.push_back(step);
  compare(table_recipe, {"hook=[{name=\"ema\"}]", "checkpoint.best={metric=\"ema/loss\"}"}, each);
}

TEST_CASE("resume: intervals that are shares of the run", "[resume]") {
  const std::vector<std::string> shares{"eval.every=0.3run", "train.log_every=0.2run",
                                        "checkpoint.every=0.15run"};
  const auto with_hook = [&](const std::string& hook) {
    std::vector<std::string> overrides = shares;
    overrides.push_back("hook=[" + hook + "]");
    return overrides;
  };
  compare(table_recipe, shares, {3, 8});
  compare(table_recipe, with_hook(R"({name="swa", from="0.2run", every="0.2run"})"), {5, 9});
  compare(table_recipe, with_hook(R"({name="freeze", match=["fc1.*"], until="0.5run"})"), {4, 8});
}

TEST_CASE("resume: hooks that freeze the same parameters at different times", "[resume]") {
  compare(
      table_recipe,
      {R"(hook=[{name="freeze", match=["fc1.*"], until="4step"}, {name="freeze", match=["*.bias"], until="9step"}])"},
      {6, 10});
}

TEST_CASE("resume: a measurement of the gradients of images in channels_last", "[resume]") {
  const char* recipe = R"(
[model]
name = "resnet20"
[dataset]
name = "shapes"
train = 32
eval = 8
[loader]
batch_size = 8
[optimizer]
name = "adam"
[train]
max_steps = 6
log_every = "1step"
[checkpoint]
every = "1step"
)";
  compare(recipe, {R"(hook=[{name="gradient_noise", every=5, over=3}])"}, {1, 2});
}

TEST_CASE("resume: records of updates that were skipped before the first step", "[resume]") {
  const Recipes files(table_recipe);
  const std::filesystem::path whole = files.folder / "whole", resumed = files.folder / "resumed";
  const std::vector<std::string> overrides{
      R"(precision={name="fp16", init_scale=1e30, growth_interval=1000})",
      "eval.every=0.2ep",
      "checkpoint={every=\"0.1ep\", keep=100}",
      "train.log_every=0.2ep",
  };
  train_in(files, whole, overrides);
  std::filesystem::copy(
      whole, resumed,
      std::filesystem::copy_options::recursive | std::filesystem::copy_options::copy_symlinks);
  for (const auto& checkpoint : CheckpointStore(resumed).all()) {
    if (checkpoint.filename() != "step-00000000") std::filesystem::remove_all(checkpoint);
  }
  std::filesystem::remove(resumed / "result.json");
  REQUIRE(read_summary(resumed / "checkpoints/step-00000000").epoch > 0);
  train_in(files, resumed, overrides);
  require_equal_runs(whole, resumed);
}

TEST_CASE("resume: augmented images, mixing and batch norm, with and without workers", "[resume]") {
  const char* recipe = R"(
[model]
name = "resnet20"
[dataset]
name = "shapes"
train = 40
eval = 8
[[dataset.transform]]
name = "random_crop"
padding = 2
[[dataset.transform]]
name = "mixup"
[loader]
batch_size = 8
[optimizer]
name = "sgd"
lr = 0.05
[train]
max_steps = 7
log_every = "2step"
[eval]
every = "3step"
[checkpoint]
every = "2step"
)";
  for (const char* workers : {"loader.workers=0", "loader.workers=4"}) {
    DYNAMIC_SECTION(workers) { compare(recipe, {workers}, {1, 5}); }
  }
}

TEST_CASE("resume: text that is read from random places, with every kind of token", "[resume]") {
  const char* recipe = R"(
[model]
name = "gpt"
layers = 1
heads = 2
width = 16
dropout = 0.1
[dataset]
name = "text"
file = "words.txt"
length = 8
[loss]
name = "lm_cross_entropy"
)";
  std::string words;
  for (int i = 0; i < 200; ++i) words += "the " + std::to_string(i * i % 97) + " foxes ran.\n";
  for (const char* tokenizer : {"char", "{name=\"bpe\", vocab_size=300}"}) {
    DYNAMIC_SECTION(tokenizer) {
      Recipes files(recipe + std::string(nine_steps));
      files.write("words.txt", words);
      compare(files, {std::string("dataset.tokenizer=") + tokenizer}, {3, 7});
    }
  }
}

TEST_CASE("resume: tables and labelled sentences from files", "[resume]") {
  SECTION("csv") {
    std::string rows = "age,colour,price\n";
    for (int i = 0; i < 50; ++i)
      rows += std::to_string(i * 7 % 31) + "," + (i % 3 == 0 ? "red" : "blue") + "," + std::to_string(i % 5) +
              ".5\n";
    Recipes files(std::string(R"(
[model]
name = "tabular"
hidden = [8]
dropout = 0.2
[dataset]
name = "csv"
train = "rows.csv"
split = 0.2
target = "price"
task = "regression"
[loss]
name = "mse"
)") + nine_steps);
    files.write("rows.csv", rows);
    compare(files, {}, {3, 7});
  }
  SECTION("text_classification") {
    std::string rows = "text,label\n";
    for (int i = 0; i < 50; ++i)
      rows += "a " + std::string(i % 2 == 0 ? "good" : "bad") + " film " + std::to_string(i % 7) + "," +
              (i % 2 == 0 ? "yes" : "no") + "\n";
    Recipes files(std::string(R"(
[model]
name = "text_mean"
width = 8
dropout = 0.2
[dataset]
name = "text_classification"
file = "rows.csv"
tokenizer = { name = "word", vocab_size = 50 }
length = 8
)") + nine_steps);
    files.write("rows.csv", rows);
    compare(files, {}, {3, 7});
  }
}
