#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "components/support/io/atomic_file.hpp"
#include "components/support/io/read_json.hpp"
#include "components/support/io/sha256.hpp"
#include "registry/machine.hpp"
#include "registry/value.hpp"
#include "registry/wording.hpp"
#include "runner/cli/commands.hpp"
#include "runner/cli/launch_options.hpp"
#include "runner/cli/option_number.hpp"
#include "runner/cli/problem.hpp"
#include "runner/describe/flatten.hpp"
#include "runner/describe/json.hpp"
#include "runner/objective.hpp"
#include "runner/recipe.hpp"
#include "runner/recipe/write.hpp"
#include "runner/resolve.hpp"
#include "runner/signals.hpp"
#include "runner/sweep/sweep.hpp"
#include "runner/sweep/sweep_report.hpp"
#include "runner/terminal/format.hpp"
#include "runner/terminal/text.hpp"

namespace runner::cli {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::optional<Value> resolved(const SweepPlan& plan, Session& session) {
  Diagnostics found;
  auto recipe = resolve_recipe({plan.recipe, session.environment, plan.overrides}, session.registry, found);
  session.err << render(found, session.err_style.colour);
  return recipe;
}

// Prints only why a value does not fit: warnings about the recipe have been printed before.
bool fits(const SweepPlan& plan, const std::string& setting, Session& session) {
  std::vector<std::string> overrides = plan.overrides;
  overrides.push_back(setting);
  Diagnostics found;
  if (resolve_recipe({plan.recipe, session.environment, overrides}, session.registry, found)) return true;
  session.err << render(found, session.err_style.colour);
  return false;
}

// Every value is checked with the recipe before the first trial starts.
bool all_values_fit(const SweepPlan& plan, Session& session) {
  for (const Parameter& parameter : plan.parameters) {
    bool all_fit = true;
    for (const double value : parameter.extremes())
      all_fit = fits(plan, parameter.key + "=" + parameter.text(value), session) && all_fit;
    if (all_fit) continue;
    if (parameter.kind == Parameter::Kind::uniform)
      session.err << "  " << parameter.key << " gets any number between the two; for integers: "
                  << (parameter.log ? "log_int" : "range") << "(low, high)\n";
    return false;
  }
  return true;
}

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

// What the command line asks for, before the recipe is read.
struct Request {
  SweepPlan plan;
  std::vector<std::string> over;  // what to search
};

Request request_of(const Arguments& arguments) {
  Request request;
  SweepPlan& plan = request.plan;
  plan.recipe = arguments.get("RECIPE");
  for (const std::string& word : arguments.all("SETTING"))
    (is_parameter(word) ? request.over : plan.overrides).push_back(word);
  if (arguments.has("metric")) {
    const std::string mode = arguments.has("mode") ? ",mode=" + quote_toml(arguments.get("mode")) : "";
    plan.overrides.push_back("checkpoint.best={metric=" + quote_toml(arguments.get("metric")) + mode + "}");
  } else if (arguments.has("mode")) {
    throw std::invalid_argument(
        "--mode says which direction of --metric is better, and there is no --metric");
  }
  if (arguments.has("halving") && arguments.has("no-halving"))
    throw std::invalid_argument("--halving and --no-halving contradict each other");
  return request;
}

// A sweep that is ready to run, and what distinguishes it from other sweeps.
struct Sweep {
  SweepPlan plan;
  std::unique_ptr<Sampler> sampler;
  Json identity;
};

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

// The options win over [sweep] of the recipe.
Sweep sweep_of(Request request, const Value& resolved_recipe, const Arguments& arguments, Session& session) {
  const Recipe recipe = decode_table<Recipe>(resolved_recipe, session.registry);
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

// How the sweep in a folder differs from this one; empty if it does not, or if there is none.
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

SweepEvents events_of(const SweepPlan& plan, const StopSignal& signal, Session& session) {
  SweepEvents events;
  events.started = [&](const Trial& trial) {
    session.err << "trial " << trial.number << "  " << joined(plan.settings(trial.point), " ") << std::endl;
  };
  events.ended = [&](const Trial& trial) {
    session.err << "trial " << trial.number << "  " << to_string(trial.outcome)
                << (trial.value ? ": " + plan.objective.metric + " " + measured(*trial.value) : "")
                << (trial.message.empty() ? "" : ": " + trial.message) << "  " << duration_text(trial.seconds)
                << std::endl;
  };
  events.interrupted = [&] { return signal.received() != 0; };
  return events;
}

void show(const SweepPlan& plan, const std::vector<Trial>& trials, Session& session) {
  session.out << trials_table(plan, trials, session.out_style);
  const std::string page = sweep_report(plan, trials);
  if (page.empty()) return;
  write_atomically(plan.folder / "sweep.html", page);
  session.out << "\n" << (plan.folder / "sweep.html").string() << "\n";
}

int sweep(const Arguments& arguments, Session& session) {
  if (arguments.get("RECIPE") == "-") {
    return refuse({"sweep cannot read the recipe from standard input: every trial reads it again",
                   {"write it to a file: runner show - > recipe.toml"}},
                  session);
  }
  Request request = request_of(arguments);
  request.plan.environment = session.environment;  // --plugin changes it
  const auto recipe = resolved(request.plan, session);
  if (!recipe) return Exit::bad_input;
  const Sweep sweep = sweep_of(std::move(request), *recipe, arguments, session);
  const SweepPlan& plan = sweep.plan;
  if (!all_values_fit(plan, session)) return Exit::bad_input;
  if (const std::string differs = difference(plan.folder / "sweep.json", sweep.identity); !differs.empty()) {
    return refuse(
        {"the folder " + plan.folder.string() + " holds another sweep: " + differs,
         {"give this one a folder of its own with --dir, or repeat the command that started the other"},
         "runner sweep --help"},
        session);
  }
  fs::create_directories(plan.folder);
  write_atomically(plan.folder / "sweep.json", dumped(sweep.identity));

  const StopSignal signal;
  const std::vector<Trial> trials = run_sweep(plan, *sweep.sampler, events_of(plan, signal, session));
  show(plan, trials, session);
  if (signal.received() != 0) {
    session.err << "interrupted; run the same command again to continue\n";
    return 128 + signal.received();
  }
  return best_trial(trials, plan.objective) ? Exit::done : Exit::failed;
}

int run(const Arguments& arguments, Session& session) {
  try {
    return sweep(arguments, session);
  } catch (const std::invalid_argument& error) {
    return refuse({error.what(), {}, "runner sweep --help"}, session);
  } catch (const BadLaunch& error) {
    return refuse(error.problem, session);
  } catch (const BadNumber& error) {
    return refuse({error.message, {}, "runner sweep --help"}, session);
  }
}

}  // namespace

Command sweep_command() {
  return {
      .name = "sweep",
      .summary = "Run a recipe with different settings and find the best.",
      .arguments =
          {{"RECIPE", "The recipe, a TOML file.", Argument::Count::one, Word::recipe},
           {"SETTING",
            "A setting to search, KEY=choice(a,b), range(0,3), uniform(0,0.5), log_uniform(1e-4,0.1) or "
            "log_int(16,1024); any other override applies to all trials. Default: [sweep] of the recipe.",
            Argument::Count::any, Word::override_}},
      .options =
          {{.name = "search",
            .doc = "grid, random, tpe or auto: grid if all values can be tried, otherwise tpe.",
            .value = "HOW"},
           {.name = "samples", .doc = "Number of trials.", .value = "N"},
           {.name = "jobs",
            .doc = "Trials at the same time; they share the cores.",
            .value = "N",
            .letter = 'j'},
           {.name = "ranks",
            .doc = "Ranks of each trial, as with `runner launch -n`.",
            .value = "N",
            .letter = 'n'},
           {.name = "halving",
            .doc = "Stop a trial early unless it is among the best third of the trials that reached the same "
                   "evaluation."},
           {.name = "no-halving", .doc = "Run every trial to its end, whatever [sweep] says."},
           {.name = "retry-failed", .doc = "Run trials again that failed in an earlier run of the sweep."},
           {.name = "metric",
            .doc = "The metric to optimise, such as eval/accuracy; default: that of checkpoint.best.",
            .value = "NAME"},
           {.name = "mode",
            .doc = "max or min: which direction of --metric is better, if the metric does not say.",
            .value = "MODE"},
           {.name = "seed", .doc = "Seed of the random values.", .value = "N"},
           {.name = "dir",
            .doc = "Folder of the sweep; default: sweeps/<run.name>.",
            .value = "DIR",
            .word = Word::file}},
      .examples =
          {{"runner sweep recipes/shapes.toml 'optimizer.lr=choice(0.1,0.01)' 'run.seed=range(0,3)'",
            "a grid of six"},
           {"runner sweep recipes/shapes.toml 'optimizer.lr=log_uniform(1e-4,1)' --samples 40 -j 2 --halving",
            "a search"}},
      .run = &run,
      .details =
          "Each trial is a run in DIR/trials; sweep.html shows them all.\n"
          "After an interruption the same command continues: finished trials are not repeated, failed ones "
          "only "
          "with\n--retry-failed.\n"
          "Quote parentheses for the shell."};
}

}  // namespace runner::cli
