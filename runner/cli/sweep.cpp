#include <sched.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <ostream>

#include "components/support/io/atomic_file.hpp"
#include "runner/cli/commands.hpp"
#include "runner/cli/option_number.hpp"
#include "runner/cli/problem.hpp"
#include "runner/describe/json.hpp"
#include "runner/measurements.hpp"
#include "runner/recipe.hpp"
#include "runner/resolve.hpp"
#include "runner/sweep/sweep.hpp"
#include "runner/sweep/sweep_report.hpp"
#include "runner/sweep/trials_table.hpp"
#include "runner/terminal/format.hpp"
#include "runner/terminal/text.hpp"
#include "runner/train/stop_signal.hpp"

namespace runner::cli {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::optional<Value> resolved(const SweepPlan& plan, const std::vector<std::string>& more, Session& session) {
  std::vector<std::string> overrides = plan.overrides;
  overrides.insert(overrides.end(), more.begin(), more.end());
  Diagnostics found;
  auto recipe = resolve_recipe({plan.recipe, session.environment, overrides}, session.registry, found);
  session.err << render(found, session.err_style.colour);
  return recipe;
}

// Every value is tried out on the recipe before the first trial costs time.
bool all_values_fit(const SweepPlan& plan, Session& session) {
  bool fit = true;
  for (const Parameter& parameter : plan.parameters) {
    for (const double value : parameter.extremes()) {
      if (!resolved(plan, {parameter.key + "=" + parameter.text(value)}, session)) fit = false;
    }
  }
  return fit;
}

std::vector<Parameter> parsed(const std::vector<std::string>& texts) {
  std::vector<Parameter> parameters;
  for (const std::string& text : texts) {
    parameters.push_back(parse_parameter(text));
    const auto same = [&](const Parameter& other) { return other.key == parameters.back().key; };
    if (std::ranges::count_if(parameters, same) > 1)
      throw std::invalid_argument("\"" + parameters.back().key + "\" is there twice");
  }
  if (parameters.empty()) {
    throw std::invalid_argument(
        "nothing says what to try: add for example 'optimizer.lr=choice(0.1, 0.01)', or a [sweep] section to "
        "the recipe");
  }
  return parameters;
}

// checkpoint.best, or else the first measurement that has a better direction.
Objective objective_of(const Recipe& recipe) {
  const std::vector<Measured> measured = measurements_of(recipe);
  if (const auto& best = recipe.checkpoint.best)
    return {best->metric,
            direction_of({best->metric, best->mode}, measured, "checkpoint.best") == Better::max};
  for (const Measured& each : measured) {
    if (each.better && !each.name.ends_with('*')) return {each.name, *each.better == Better::max};
  }
  throw std::invalid_argument(
      "the recipe measures nothing that makes one trial better than another: say what with --metric");
}

std::int64_t usable_cores() {
  cpu_set_t allowed;
  return sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
}

SweepSearch search_of(const std::string& name, const SweepSection& section) {
  if (name.empty()) return section.search;
  const std::pair<const char*, SweepSearch> known[] = {{"auto", SweepSearch::automatic},
                                                       {"grid", SweepSearch::grid},
                                                       {"random", SweepSearch::random},
                                                       {"tpe", SweepSearch::tpe}};
  for (const auto& [text, search] : known) {
    if (name == text) return search;
  }
  throw std::invalid_argument("--search is one of auto, grid, random and tpe, not \"" + name + "\"");
}

std::unique_ptr<Sampler> make_sampler(SweepSearch search, const SweepPlan& plan, std::uint64_t seed) {
  const bool countable = std::ranges::all_of(plan.parameters, &Parameter::countable);
  if (search == SweepSearch::automatic) search = countable ? SweepSearch::grid : SweepSearch::tpe;
  if (search == SweepSearch::grid) return grid_sampler(plan.parameters);
  if (plan.samples == 0)
    throw std::invalid_argument("such a search has no end of its own: say how many trials with --samples");
  return search == SweepSearch::tpe ? tpe_sampler(plan.parameters, seed)
                                    : random_sampler(plan.parameters, seed);
}

// What a sweep is; one that is started again must be the same, except for how many trials at how many at
// once.
Json identity(const SweepPlan& plan, SweepSearch search, std::int64_t seed,
              const std::vector<std::string>& over) {
  return {{"recipe", fs::absolute(plan.recipe).lexically_normal().string()},
          {"overrides", plan.overrides},
          {"over", over},
          {"search", static_cast<int>(search)},
          {"seed", seed},
          {"metric", plan.objective.metric},
          {"highest", plan.objective.highest},
          {"halving", plan.halving}};
}

std::string other_sweep(const fs::path& file, const Json& wanted) {
  std::ifstream stream(file);
  if (!stream) return "";
  const Json there = Json::parse(stream, nullptr, false);
  for (const auto& [key, value] : wanted.items()) {
    if (!there.is_object() || !there.contains(key) || there[key] != value) return key;
  }
  return "";
}

void write(const fs::path& file, const std::string& text) {
  AtomicFile out(file);
  out.write(text);
  out.commit();
}

SweepEvents events_of(const SweepPlan& plan, const StopSignal& signal, Session& session) {
  SweepEvents events;
  events.begun = [&](const Trial& trial) {
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

int sweep(const Arguments& arguments, Session& session) {
  SweepPlan plan;
  plan.recipe = arguments.get("RECIPE");
  std::vector<std::string> over;
  for (const std::string& word : arguments.all("SETTING"))
    (is_parameter(word) ? over : plan.overrides).push_back(word);
  if (arguments.has("metric")) {
    const std::string mode = arguments.has("mode") ? ",mode=\"" + arguments.get("mode") + "\"" : "";
    plan.overrides.push_back("checkpoint.best={metric=\"" + arguments.get("metric") + "\"" + mode + "}");
  } else if (arguments.has("mode")) {
    throw std::invalid_argument(
        "--mode says which direction of --metric is better, and there is no --metric");
  }
  const auto base = resolved(plan, {}, session);
  if (!base) return Exit::bad_input;
  const Recipe recipe = decode_table<Recipe>(*base, session.registry);
  const SweepSection section = recipe.sweep.value_or(SweepSection{});
  if (over.empty()) over = section.over;
  plan.parameters = parsed(over);
  plan.objective = objective_of(recipe);
  plan.samples = whole_option(arguments, "samples", 1).value_or(section.samples.value_or(0));
  plan.jobs = whole_option(arguments, "jobs", 1).value_or(section.jobs);
  plan.halving = arguments.has("halving") || section.halving;
  plan.folder = arguments.has("dir") ? fs::path(arguments.get("dir")) : fs::path("sweeps") / recipe.run.name;
  const SweepSearch search = search_of(arguments.get("search"), section);
  const auto seed = whole_option(arguments, "seed", 0).value_or(section.seed);
  const auto sampler = make_sampler(search, plan, static_cast<std::uint64_t>(seed));
  if (!all_values_fit(plan, session)) return Exit::bad_input;

  const Json wanted = identity(plan, search, seed, over);
  if (const std::string differs = other_sweep(plan.folder / "sweep.json", wanted); !differs.empty()) {
    return refuse(
        {"the folder " + plan.folder.string() + " holds another sweep: \"" + differs + "\" is not the same",
         {"give this one a folder of its own with --dir, or repeat the command that began the other"},
         "runner sweep --help"},
        session);
  }
  fs::create_directories(plan.folder);
  write(plan.folder / "sweep.json", dumped(wanted));
  if (recipe.sweep) plan.overrides.emplace_back("~sweep");
  if (plan.jobs > 1 && recipe.run.threads == 0)
    plan.overrides.push_back("run.threads=" +
                             std::to_string(std::max<std::int64_t>(1, usable_cores() / plan.jobs)));

  const StopSignal signal;
  const std::vector<Trial> trials = run_sweep(plan, *sampler, events_of(plan, signal, session));
  session.out << trials_table(plan, trials, session.out_style);
  if (const std::string page = sweep_report(plan, trials); !page.empty()) {
    write(plan.folder / "sweep.html", page);
    session.out << "\n" << (plan.folder / "sweep.html").string() << "\n";
  }
  if (signal.received() != 0) {
    session.err << "interrupted; the same command goes on from here\n";
    return 128 + signal.received();
  }
  return best_trial(trials, plan.objective) ? Exit::done : Exit::failed;
}

int run(const Arguments& arguments, Session& session) {
  try {
    return sweep(arguments, session);
  } catch (const std::invalid_argument& error) {
    return refuse({error.what(), {}, "runner sweep --help"}, session);
  } catch (const BadNumber& error) {
    return refuse({error.message, {}, "runner sweep --help"}, session);
  }
}

}  // namespace

Command sweep_command() {
  return {
      .name = "sweep",
      .summary = "Run a recipe with many settings and find the best.",
      .arguments = {{"RECIPE", "The recipe, a TOML file.", Argument::Count::one, Word::recipe},
                    {"SETTING",
                     "What to try, KEY= and choice(a,b), range(0,3), uniform(0,0.5) or "
                     "log_uniform(1e-4,0.1); any other override is for "
                     "all trials. Without one to try, [sweep] of the recipe says it.",
                     Argument::Count::any, Word::override_}},
      .options =
          {{.name = "search",
            .doc = "grid, random, tpe or auto: grid where all values can be tried, else tpe.",
            .value = "HOW"},
           {.name = "samples", .doc = "How many trials.", .value = "N"},
           {.name = "jobs",
            .doc = "Trials at the same time; they share the cores.",
            .value = "N",
            .letter = 'j'},
           {.name = "halving",
            .doc = "Stop trials early that are not among the best third of those that came as far."},
           {.name = "metric",
            .doc = "What decides, such as eval/accuracy; without it checkpoint.best of the recipe.",
            .value = "NAME"},
           {.name = "mode",
            .doc =
                "max or min: which direction of --metric is better, where the metric does not say it itself.",
            .value = "MODE"},
           {.name = "seed", .doc = "Of what is drawn at random.", .value = "N"},
           {.name = "dir",
            .doc = "The folder of the sweep; sweeps/<run.name> where not given.",
            .value = "DIR",
            .word = Word::file}},
      .examples =
          {{"runner sweep recipes/shapes.toml optimizer.lr=choice(0.1,0.01) run.seed=range(0,3)",
            "a grid of six"},
           {"runner sweep recipes/shapes.toml optimizer.lr=log_uniform(1e-4,1) --samples 40 -j 2 --halving",
            "a search"}},
      .run = &run,
      .details =
          "Each trial is a run in DIR/trials; sweep.html shows them all. Interrupted or killed, the same "
          "command goes on: finished "
          "trials are not repeated. Shells need quotes around the parentheses."};
}

}  // namespace runner::cli
