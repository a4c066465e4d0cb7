#include <ostream>

#include "runner/cli/commands.hpp"
#include "runner/cli/options/launch_options.hpp"
#include "runner/cli/options/option_number.hpp"
#include "runner/resolve/resolve.hpp"

namespace runner::cli {

namespace {

int run(const Arguments& arguments, Session& session) {
  if (arguments.get("RECIPE") == "-") {
    return refuse({"launch cannot read the recipe from standard input: every rank reads it again",
                   {"write it to a file: runner show - > recipe.toml"}},
                  session);
  }
  // Mistakes in the recipe are reported once, not by every rank.
  Diagnostics found;
  const auto resolved = resolve_recipe({.file = arguments.get("RECIPE"),
                                        .environment = session.environment,
                                        .overrides = arguments.all("OVERRIDE"),
                                        .sends = true},
                                       session.registry, found);
  if (!resolved) {
    session.err << render(found, session.err_style.colour);
    return Exit::bad_input;
  }
  try {
    const Recipe recipe = decode_table<Recipe>(*resolved, session.registry);
    LaunchOptions options = launch_options(arguments, session.environment, recipe);
    // With several machines only the ranks know how many they are.
    if (options.nodes == 1 && !fits_ranks(*resolved, recipe, options.ranks, found)) {
      session.err << render(found, session.err_style.colour);
      return Exit::bad_input;
    }
    return launch_ranks(std::move(options), session.err);
  } catch (const BadLaunch& bad) {
    return refuse(bad.problem, session);
  } catch (const BadRendezvous& bad) {
    return refuse(
        {bad.what(),
         {"--rendezvous is an address of machine 0, which is the one with --node-rank 0, and a port "
          "that is free there"}},
        session);
  } catch (const BadNumber& bad) {
    return refuse({bad.message}, session);
  }
}

}  // namespace

Command launch_command() {
  return {.name = "launch",
          .summary = "Run a recipe on several ranks: processes that train one model together.",
          .arguments = {{"RECIPE", "The recipe, a TOML file.", Argument::Count::one, Word::recipe},
                        {"OVERRIDE", "Changes to it, as for `runner run`.", Argument::Count::any,
                         Word::override_}},
          .options =
              {{.name = "ranks", .doc = "Number of ranks on this machine.", .value = "N", .letter = 'n'},
               {.name = "gpus",
                .doc = "One rank for each of these GPUs: 0,2. Counted among those of CUDA_VISIBLE_DEVICES, "
                       "if it is set.",
                .value = "LIST"},
               {.name = "multi-gpu", .doc = "One rank for each GPU."},
               {.name = "nodes", .doc = "Number of machines.", .value = "N"},
               {.name = "node-rank", .doc = "The number of this machine, from 0.", .value = "N"},
               {.name = "rendezvous", .doc = "Where machine 0 listens for the others.", .value = "HOST:PORT"},
               {.name = "secret-file",
                .doc = "A file with a secret that all machines share; only for several machines.",
                .value = "FILE",
                .word = Word::file},
               {.name = "max-restarts", .doc = "Restart up to N times when a rank fails.", .value = "N"},
               {.name = "elastic",
                .doc = "Start with MOST ranks; when some fail, restart with the others, at least FEWEST.",
                .value = "FEWEST:MOST"},
               {.name = "tee", .doc = "Show the output of every rank, not only of rank 0."},
               {.name = "resume",
                .doc = "Start a new run from this checkpoint of another run.",
                .value = "CHECKPOINT",
                .word = Word::file},
               {.name = "force",
                .doc = "Continue the run in run.dir even if changed settings alter its results."},
               {.name = "dry-run", .doc = "Run two steps and one short evaluation, and write no files."}},
          .examples = {{"runner launch -n 2 recipes/cifar10.toml", "two ranks on this machine"},
                       {"runner launch --multi-gpu recipes/cifar10.toml", "one rank for each GPU"}},
          .run = &run,
          .details =
              "Rank 0 shows its progress here; the output of the others is in ranks/ of the run's folder.\n"
              "When a rank fails, the others stop, and the exit code is that of the one that failed first.\n"
              "torchrun --no-python, mpirun and srun can start `runner run` as well: docs/distributed.md."};
}

}  // namespace runner::cli
