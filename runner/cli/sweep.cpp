#include <nlohmann/json.hpp>
#include <ostream>

#include "registry/base/wording.hpp"
#include "registry/files/atomic_file.hpp"
#include "registry/value.hpp"
#include "runner/cli/commands.hpp"
#include "runner/cli/options/launch_options.hpp"
#include "runner/cli/options/option_number.hpp"
#include "runner/cli/options/sweep_options.hpp"
#include "runner/cli/problem.hpp"
#include "runner/describe/json.hpp"
#include "runner/process/signals.hpp"
#include "runner/recipe/objective.hpp"
#include "runner/resolve/resolve.hpp"
#include "runner/sweep/sweep.hpp"
#include "runner/sweep/sweep_report.hpp"
#include "runner/terminal/format.hpp"
#include "runner/terminal/text.hpp"

namespace runner::cli {

namespace {

std::optional<Value> resolved(const SweepPlan& plan, Session& session) {
  Diagnostics found;
  auto recipe = resolve_recipe(
      {.file = plan.recipe, .environment = session.environment, .overrides = plan.overrides, .sends = true},
      session.registry, found);
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
  SweepRequest request = sweep_request(arguments);
  request.plan.environment = session.environment;  // --plugin changes it
  const auto recipe = resolved(request.plan, session);
  if (!recipe) return Exit::bad_input;
  const Sweep sweep = sweep_of(std::move(request), *recipe, arguments, session.registry);
  const SweepPlan& plan = sweep.plan;
  if (!all_values_fit(plan, session)) return Exit::bad_input;
  if (const std::string differs = difference(plan.folder / "sweep.json", sweep.identity); !differs.empty()) {
    return refuse(
        {"the folder " + plan.folder.string() + " holds another sweep: " + differs,
         {"give this one a folder of its own with --dir, or repeat the command that started the other"},
         "runner sweep --help"},
        session);
  }
  std::filesystem::create_directories(plan.folder);
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
          "After an interruption the same command continues: finished trials are not repeated, and failed "
          "trials\nonly with --retry-failed.\n"
          "Quote parentheses for the shell."};
}

}  // namespace runner::cli
