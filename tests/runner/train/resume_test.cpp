// A run that is interrupted and continued ends with the bits of one that was not: for every optimizer,
// schedule, precision and hook that is registered, so that a new one is covered by itself.
#include <catch2/catch_all.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "runner/resolve.hpp"
#include "runner/train/train_recipe.hpp"
#include "tests/support/files.hpp"
#include "tests/support/recipes.hpp"

using namespace runner;
using namespace runner::testing;
namespace fs = std::filesystem;

namespace {

constexpr std::int64_t last_step = 13;

// Dropout, accumulation with a short last window, clipping; evaluations and records out of step with each
// other.
constexpr const char* table_recipe = R"(
[model]
name = "mlp"
hidden = [16, 16]
dropout = 0.2
[dataset]
name = "synthetic"
shape = [16]
train = 88
eval = 16
[loader]
batch_size = 8
[optimizer]
name = "adam"
lr = 0.01
[train]
max_steps = 13
accumulation_steps = 2
clip_norm = 1.0
log_every = "3step"
[eval]
every = "4step"
[[eval.metric]]
name = "loss"
[[eval.metric]]
name = "accuracy"
[checkpoint]
every = "5step"
)";

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

RunResult train_in(const Recipes& files, const fs::path& folder, std::vector<std::string> overrides,
                   std::optional<std::int64_t> interrupt_at = {}, bool force = false) {
  static Registry registry = Registry::of_linked();
  Diagnostics found;
  overrides.push_back("run.dir=" + folder.string());
  overrides.push_back("run.threads=1");
  const auto resolved = resolve_recipe({files.folder / "main.toml", {}, overrides}, registry, found);
  INFO(render(found));
  REQUIRE(resolved);
  World alone;
  return train_recipe(*resolved, registry, alone,
                      {.quiet = true, .force = force, .interrupt_at = interrupt_at});
}

// metrics.jsonl without what is about time.
std::vector<std::string> records(const fs::path& run) {
  std::vector<std::string> lines;
  std::ifstream file(run / "metrics.jsonl");
  for (std::string line; std::getline(file, line);) {
    auto record = nlohmann::json::parse(line);
    record.erase("time");
    for (const char* speed : {"perf/examples_per_second", "perf/model_flops", "perf/flops_share"}) {
      if (record.contains(speed)) record[speed] = "measured";
    }
    lines.push_back(record.dump());
  }
  return lines;
}

void require_equal_runs(const fs::path& whole, const fs::path& resumed) {
  CHECK(records(whole) == records(resumed));
  for (const char* file : {"model.safetensors", "ema.safetensors", "swa.safetensors", "best.safetensors",
                           "checkpoints/latest/model.safetensors", "checkpoints/latest/optimizer.safetensors",
                           "checkpoints/latest/state.safetensors"}) {
    INFO(file);
    REQUIRE(fs::exists(whole / file) == fs::exists(resumed / file));
    if (fs::exists(whole / file)) CHECK(read_text(whole / file) == read_text(resumed / file));
  }
}

void compare(const Recipes& files, const std::vector<std::string>& overrides,
             std::vector<std::int64_t> stops) {
  const fs::path whole = files.folder / "whole", resumed = files.folder / "resumed";
  train_in(files, whole, overrides);
  for (const std::int64_t stop : stops) {
    const RunResult result = train_in(files, resumed, overrides, stop);
    CHECK(result.outcome == RunResult::Outcome::interrupted);
    CHECK(result.steps == stop);
  }
  train_in(files, resumed, overrides);
  require_equal_runs(whole, resumed);
}

void compare(const char* recipe, const std::vector<std::string>& overrides, std::vector<std::int64_t> stops) {
  compare(Recipes(recipe), overrides, std::move(stops));
}

std::vector<std::string> registered(std::string_view kind) { return Registry::of_linked().names(kind); }

// What a component needs besides its name, where it needs something.
const std::map<std::string, std::string> needs{
    {"early_stop", R"(metric="eval/loss", patience=50)"},
    {"freeze", R"(match=["fc1.*","*.bias"], from="4step", until="9step")"},
    {"swa", R"(from="3step", every="2step")"},
    {"time_limit", R"(limit="10h")"},
    {"lr_finder", R"(steps=12)"},
    {"inverse_sqrt", R"(warmup="3step", timescale="4step")"},
    {"throughput", R"(every=2)"},
    {"profiler", R"(skip=3, steps=4)"},
    {"gradient_noise", R"(every=4, over=3)"},
    {"histograms", R"(every=3)"},
    {"sequential", R"(part=[{name="linear"},{name="constant"}], milestones=["6step"])"},
    {"chained", R"(part=[{name="linear"},{name="plateau", patience=0}])"},
    {"plateau", R"(patience=0)"},
    {"step", R"(every="4step")"},
    {"multi_step", R"(milestones=["4step","8step"])"},
};

std::string part_text(const std::string& name) {
  const auto more = needs.find(name);
  return "{name=\"" + name + "\"" + (more == needs.end() ? "" : ", " + more->second) + "}";
}

}  // namespace

TEST_CASE("resume: every optimizer goes on with the same bits", "[resume]") {
  for (const std::string& name : registered("optimizer")) {
    DYNAMIC_SECTION(name) { compare(table_recipe, {"optimizer={name=\"" + name + "\", lr=0.01}"}, {6}); }
  }
}

TEST_CASE("resume: every schedule goes on with the same bits", "[resume]") {
  for (const std::string& name : registered("scheduler")) {
    DYNAMIC_SECTION(name) { compare(table_recipe, {"scheduler=" + part_text(name)}, {7}); }
  }
}

TEST_CASE("resume: every precision goes on with the same bits", "[resume]") {
  for (const std::string& name : registered("precision")) {
    DYNAMIC_SECTION(name) { compare(table_recipe, {"precision=" + name}, {4, 9}); }
  }
}

TEST_CASE("resume: every hook goes on with the same bits", "[resume]") {
  for (const std::string& name : registered("hook")) {
    DYNAMIC_SECTION(name) { compare(table_recipe, {"hook=[" + part_text(name) + "]"}, {5}); }
  }
}

TEST_CASE("resume: at any step, as often as one likes", "[resume]") {
  std::vector<std::int64_t> each;
  for (std::int64_t step = 1; step < last_step; ++step) each.push_back(step);
  compare(table_recipe, {"hook=[{name=\"ema\"}]", "checkpoint.best={metric=\"ema/loss\"}"}, each);
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

TEST_CASE(
    "resume: a recipe that changes the course is refused unless it is forced, and one that does not fit "
    "always is",
    "[resume]") {
  Recipes files(table_recipe);
  const fs::path run = files.folder / "run";
  train_in(files, run, {}, 6);
  using Catch::Matchers::ContainsSubstring;
  CHECK_THROWS_WITH(train_in(files, run, {"optimizer.lr=0.5"}),
                    ContainsSubstring("optimizer.lr") && ContainsSubstring("--force"));
  CHECK_THROWS_WITH(train_in(files, run, {"model.hidden=[8]"}),
                    ContainsSubstring("model.hidden") && ContainsSubstring("impossible"));
  const RunResult longer = train_in(files, run, {"train.max_steps=15", "train.log_every=1step"});  // harmless
  CHECK(longer.steps == 15);
}

TEST_CASE("resume: --force continues with a changed recipe, from the restored state", "[resume]") {
  Recipes files(table_recipe);
  const fs::path run = files.folder / "run", plain = files.folder / "plain";
  train_in(files, plain, {});
  train_in(files, run, {}, 6);
  const RunResult forced = train_in(files, run, {"optimizer.lr=0.5"}, {}, /*force=*/true);
  CHECK(forced.steps == last_step);
  const auto before = records(plain), after = records(run);
  REQUIRE(before.size() == after.size());
  CHECK(before.front() == after.front());  // up to the checkpoint
  CHECK(before.back() != after.back());
}

namespace {

// Settings of an optimizer that are on or off, and the value that is not the default.
std::vector<std::pair<std::string, bool>> switches_of(const std::string& optimizer) {
  const Registry registry = Registry::of_linked();
  std::vector<std::pair<std::string, bool>> switches;
  for (const FieldInfo& field : registry.find("optimizer", optimizer)->schema().fields) {
    if (field.type.kind == TypeInfo::Kind::boolean && field.default_value)
      switches.emplace_back(field.name, !*field.default_value->as<bool>());
  }
  return switches;
}

}  // namespace

TEST_CASE("resume: what the saved state of an optimizer does not fit is marked as impossible", "[resume]") {
  for (const std::string& name : registered("optimizer")) {
    for (const auto& [key, value] : switches_of(name)) {
      DYNAMIC_SECTION(name << " " << key) {
        Recipes files(table_recipe);
        const fs::path run = files.folder / "run";
        const std::string start = "optimizer={name=\"" + name + "\", lr=0.01";
        train_in(files, run, {start + "}"}, 3);
        try {
          train_in(files, run, {start + ", " + key + "=" + (value ? "true" : "false") + "}"}, 4, true);
        } catch (const std::exception& error) {
          CHECK_THAT(error.what(), Catch::Matchers::ContainsSubstring("impossible"));
        }
      }
    }
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
