#include "runner/cli/options/sweep_options.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "registry/base/machine.hpp"
#include "registry/base/wording.hpp"
#include "registry/files/read_json.hpp"
#include "registry/files/sha256.hpp"
#include "runner/cli/options/launch_options.hpp"
#include "runner/cli/options/option_number.hpp"
#include "runner/describe/flatten.hpp"
#include "runner/recipe/objective.hpp"
#include "runner/recipe/recipe.hpp"
#include "runner/toml/write.hpp"

namespace runner::cli {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::vector<Parameter> parsed(const std::vector<std::string>& texts) {
  std::vector<Parameter> parameters;
  for (const std::string& text : texts) {
    parameters.push_back(parse_parameter(text));
    const auto same = [&](const Parameter& other) { return other.key == parameters.back().key; };
    if (std::ranges::count_if(parameters, same) > 1)
      throw std::invalid_argument(in_quotes(parameters.back().key) + " is given twice");
  }
  if (parameters.empty()) {
    throw std::invalid_argument(
        "no settings to search; for example 'optimizer.lr=choice(0.1, 0.01)', or a [sweep] section in the "
        "recipe");
  }
  return parameters;
}

// What the sweep sets for each trial cannot be set by the user as well: one of them would be ignored.
void require_set_once(const SweepPlan& plan, const Recipe& recipe) {
  const auto is_searched = [&](std::string_view key) {
    return std::ranges::find(plan.parameters, key, &Parameter::key) != plan.parameters.end();
  };
  if (recipe.run.dir || is_searched("run.dir"))
    throw std::invalid_argument(
        "run.dir cannot be set: every trial has a folder of its own; choose that of the sweep with --dir");
  if (recipe.checkpoint.resume == Resume::never || is_searched("checkpoint.resume"))
    throw std::invalid_argument(
        "checkpoint.resume cannot be set: an unfinished trial continues from its checkpoint");
  const auto key_of = [](std::string_view override) { return override.substr(0, override.find('=')); };
  for (const Parameter& parameter : plan.parameters) {
    if (std::ranges::find(plan.overrides, parameter.key, key_of) != plan.overrides.end())
      throw std::invalid_argument(in_quotes(parameter.key) + " is given twice: to search it, and as a value");
  }
}

void require_room_for(const SweepPlan& plan) {
  constexpr std::int64_t most = 1'000'000;  // so that the product does not overflow
  if (plan.ranks > 1)
    require_room(
        plan.jobs > 1 ? "a sweep of " + std::to_string(plan.jobs) + " trials at the same time" : "--ranks",
        std::min(plan.jobs, most) * std::min(plan.ranks, most));
}

constexpr std::pair<const char*, SweepSearch> searches[] = {{"auto", SweepSearch::automatic},
                                                            {"grid", SweepSearch::grid},
                                                            {"random", SweepSearch::random},
                                                            {"tpe", SweepSearch::tpe}};

SweepSearch search_of(const std::string& name) {
  for (const auto& [text, search] : searches) {
    if (name == text) return search;
  }
  throw std::invalid_argument("--search is one of auto, grid, random and tpe, not " + in_quotes(name));
}

std::string name_of(SweepSearch search) {
  return std::ranges::find(searches, search, [](const auto& each) { return each.second; })->first;
}

std::unique_ptr<Sampler> make_sampler(SweepSearch search, const SweepPlan& plan, std::uint64_t seed) {
  const bool countable = std::ranges::all_of(plan.parameters, &Parameter::countable);
  if (search == SweepSearch::automatic) search = countable ? SweepSearch::grid : SweepSearch::tpe;
  if (search == SweepSearch::grid) return grid_sampler(plan.parameters);
  if (plan.samples == 0)
    throw std::invalid_argument("random and TPE search need a number of trials: --samples N");
  return search == SweepSearch::tpe ? tpe_sampler(plan.parameters, seed)
                                    : random_sampler(plan.parameters, seed);
}

// The sweep keeps its overrides in a file, without secrets: "tracker.0.token=..".
std::vector<std::string> without_secrets(std::vector<std::string> overrides, const Value& recipe) {
  for (const auto& [key, value] : flatten(recipe)) {
    if (!value->secret || !value->origin.source) continue;
    for (std::string& each : overrides) {
      if (each == value->origin.source->text) each = value->origin.source->name + "=..";
    }
  }
  return overrides;
}

// A sweep that is started again must be the same, except for the number of trials and of parallel jobs.
Json identity_of(const Sweep& sweep, const std::vector<std::string>& over, SweepSearch search,
                 std::int64_t seed, Value recipe) {
  recipe.as<Table>()->erase("sweep");  // the number of trials may change
  const SweepPlan& plan = sweep.plan;
  return {{"recipe", fs::absolute(plan.recipe).lexically_normal().string()},
          {"overrides", without_secrets(plan.overrides, recipe)},
          {"over", over},
          {"search", name_of(search)},
          {"seed", seed},
          {"metric", plan.objective.metric},
          {"highest", plan.objective.highest},
          {"halving", plan.halving},
          {"number of ranks", plan.ranks},
          {"contents of the recipe", sha256_hex(write_toml(recipe))}};
}

}  // namespace

SweepRequest sweep_request(const Arguments& arguments) {
  SweepRequest request;
  SweepPlan& plan = request.plan;
  plan.recipe = arguments.get("RECIPE");
  for (const std::string& word : arguments.all("SETTING"))
    (is_parameter(word) ? request.over : plan.overrides).push_back(word);
  if (arguments.has("metric")) {
    const std::string mode = arguments.has("mode") ? ",mode=" + quote_toml(arguments.get("mode")) : "";
    plan.overrides.push_back("checkpoint.best={metric=" + quote_toml(arguments.get("metric")) + mode + "}");
  } else if (arguments.has("mode")) {
    throw std::invalid_argument("--mode says which direction of --metric is better, but --metric is missing");
  }
  if (arguments.has("halving") && arguments.has("no-halving"))
    throw std::invalid_argument("--halving and --no-halving contradict each other");
  return request;
}

Sweep sweep_of(SweepRequest request, const Value& resolved_recipe, const Arguments& arguments,
               const Registry& registry) {
  const Recipe recipe = decode_table<Recipe>(resolved_recipe, registry);
  const SweepSection section = recipe.sweep.value_or(SweepSection{});
  const std::vector<std::string> over = request.over.empty() ? section.over : request.over;
  Sweep sweep{.plan = std::move(request.plan), .sampler = nullptr, .identity = {}};
  SweepPlan& plan = sweep.plan;
  plan.parameters = parsed(over);
  require_set_once(plan, recipe);
  const auto objective = objective_of(recipe);
  if (!objective) throw std::invalid_argument("the recipe has no metric to optimise; name one with --metric");
  plan.objective = *objective;
  plan.samples = whole_option(arguments, "samples", 1).value_or(section.samples.value_or(0));
  plan.jobs = whole_option(arguments, "jobs", 1).value_or(section.jobs);
  plan.ranks = whole_option(arguments, "ranks", 1).value_or(section.ranks);
  plan.halving = arguments.has("halving") || (section.halving && !arguments.has("no-halving"));
  plan.retry_failed = arguments.has("retry-failed");
  plan.folder = arguments.has("dir") ? fs::path(arguments.get("dir")) : fs::path("sweeps") / recipe.run.name;
  require_room_for(plan);
  if (plan.jobs > 1 && recipe.run.threads == 0)
    plan.threads = std::max<std::int64_t>(1, usable_cores() / (plan.jobs * plan.ranks));
  const SweepSearch search = arguments.has("search") ? search_of(arguments.get("search")) : section.search;
  const auto seed = whole_option(arguments, "seed", 0).value_or(section.seed);
  sweep.sampler = make_sampler(search, plan, static_cast<std::uint64_t>(seed));
  sweep.identity = identity_of(sweep, over, search, seed, resolved_recipe);
  if (recipe.sweep) plan.overrides.emplace_back("~sweep");
  return sweep;
}

std::string difference(const fs::path& file, const Json& wanted) {
  if (!fs::exists(file)) return "";
  const Json there = read_json_file_or_null(file);
  for (const auto& [key, value] : wanted.items()) {
    const Json other = there.is_object() && there.contains(key) ? there[key] : Json();
    if (other == value) continue;
    if (key == "contents of the recipe") return "the recipe has been changed since";
    const std::string what = key == "over"        ? "what it searches"
                             : key == "overrides" ? "what it sets"
                             : key == "highest"   ? "which direction is better"
                                                  : "its " + key;
    return what + " is " + other.dump() + ", and here it is " + value.dump();
  }
  return "";
}

}  // namespace runner::cli
