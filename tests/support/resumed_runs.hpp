// Runs that are interrupted and continued, compared with runs that were not.
#pragma once

#include <catch2/catch_all.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "runner/resolve/resolve.hpp"
#include "runner/train/train_recipe.hpp"
#include "tests/support/files.hpp"
#include "tests/support/recipes.hpp"

namespace runner::testing {

inline constexpr std::int64_t last_step = 13;

// Dropout, accumulation with a short last window, clipping; evaluations and records out of step with each
// other.
inline constexpr const char* table_recipe = R"(
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

inline RunResult train_in(const Recipes& files, const std::filesystem::path& folder,
                          std::vector<std::string> overrides, std::optional<std::int64_t> interrupt_at = {},
                          bool force = false) {
  static Registry registry = Registry::of_linked();
  Diagnostics found;
  overrides.push_back("run.dir=" + folder.string());
  const auto resolved = resolve_recipe({files.folder / "main.toml", {}, overrides}, registry, found);
  INFO(render(found));
  REQUIRE(resolved);
  World alone;
  return train_recipe(*resolved, registry, alone,
                      {.quiet = true, .force = force, .interrupt_at = interrupt_at});
}

// metrics.jsonl without what is about time.
inline std::vector<std::string> records(const std::filesystem::path& run) {
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

// state.json of the last checkpoint, without times and the identity of the run.
inline nlohmann::json last_state(const std::filesystem::path& run) {
  auto states = nlohmann::json::parse(read_text(run / "checkpoints/latest/state.json"));
  for (const char* of_this_run : {"times", "trackers"}) states.erase(of_this_run);
  states["progress"]["numbers"].erase("seconds");
  for (auto& [name, state] : states.items())
    if (name == "journal" || name.ends_with(".throughput")) state.erase("numbers");
  return states;
}

inline void require_equal_runs(const std::filesystem::path& whole, const std::filesystem::path& resumed) {
  CHECK(records(whole) == records(resumed));
  CHECK(last_state(whole) == last_state(resumed));
  for (const char* file : {"model.safetensors", "ema.safetensors", "swa.safetensors", "best.safetensors",
                           "checkpoints/latest/model.safetensors", "checkpoints/latest/optimizer.safetensors",
                           "checkpoints/latest/state.safetensors"}) {
    INFO(file);
    REQUIRE(std::filesystem::exists(whole / file) == std::filesystem::exists(resumed / file));
    if (std::filesystem::exists(whole / file)) CHECK(read_text(whole / file) == read_text(resumed / file));
  }
}

inline void compare(const Recipes& files, const std::vector<std::string>& overrides,
                    std::vector<std::int64_t> stops) {
  const std::filesystem::path whole = files.folder / "whole", resumed = files.folder / "resumed";
  train_in(files, whole, overrides);
  for (const std::int64_t stop : stops) {
    const RunResult result = train_in(files, resumed, overrides, stop);
    CHECK(result.outcome == Outcome::interrupted);
    CHECK(result.steps == stop);
  }
  train_in(files, resumed, overrides);
  require_equal_runs(whole, resumed);
}

inline void compare(const char* recipe, const std::vector<std::string>& overrides,
                    std::vector<std::int64_t> stops) {
  compare(Recipes(recipe), overrides, std::move(stops));
}

// What a component needs besides its name, where it needs something.
inline const std::map<std::string, std::string> needs{
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

// A part of that name, as a recipe has it.
inline std::string usual_part(const std::string& name) {
  const auto more = needs.find(name);
  return "{name=\"" + name + "\"" + (more == needs.end() ? "" : ", " + more->second) + "}";
}

}  // namespace runner::testing
