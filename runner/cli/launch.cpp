#include "runner/launch/launch.hpp"

#include <torch/cuda.h>

#include <filesystem>
#include <ostream>
#include <sstream>

#include "runner/cli/commands.hpp"
#include "runner/cli/option_number.hpp"
#include "runner/cli/problem.hpp"
#include "runner/resolve.hpp"

namespace runner::cli {

namespace {

// Something about the command line that cannot be.
struct BadLaunch {
  Problem problem;
};

int whole(const Arguments& arguments, std::string_view name, int least, int otherwise) {
  constexpr std::int64_t most = 65536;
  const std::int64_t given = whole_option(arguments, name, least).value_or(otherwise);
  if (given > most) throw BadNumber{"--" + std::string(name) + " is larger than " + std::to_string(most)};
  return static_cast<int>(given);
}

std::vector<int> gpus(const Arguments& arguments) {
  std::vector<int> numbers;
  if (arguments.has("multi-gpu")) {
    if (arguments.has("gpus"))
      throw BadLaunch{{"--multi-gpu takes all GPUs, --gpus some of them: give one of the two"}};
    const int count = static_cast<int>(torch::cuda::device_count());
    if (count == 0) throw BadLaunch{{"--multi-gpu: there is no GPU here", {}, "runner env"}};
    for (int i = 0; i < count; ++i) numbers.push_back(i);
  }
  std::istringstream list(arguments.get("gpus"));
  for (std::string item; std::getline(list, item, ',');) {
    if (item.empty() || item.find_first_not_of("0123456789") != std::string::npos || item.size() > 4)
      throw BadLaunch{{"--gpus needs numbers with commas between them, such as 0,2, not \"" +
                       arguments.get("gpus") + "\""}};
    numbers.push_back(std::stoi(item));
  }
  return numbers;
}

void set_ranks(LaunchOptions& options, const Arguments& arguments) {
  options.gpus = gpus(arguments);
  const int by_gpus = static_cast<int>(options.gpus.size());
  if (by_gpus == 0 && !arguments.has("ranks"))
    throw BadLaunch{{"how many ranks? give -n, or --gpus", {"runner launch -n 2 RECIPE"}}};
  options.ranks = whole(arguments, "ranks", 1, by_gpus);
  if (by_gpus > 0 && options.ranks != by_gpus)
    throw BadLaunch{{"-n says " + std::to_string(options.ranks) + " ranks, but there are " +
                     std::to_string(by_gpus) + " GPUs for them: one each; leave -n out"}};
}

void set_machines(LaunchOptions& options, const Arguments& arguments) {
  options.nodes = whole(arguments, "nodes", 1, 1);
  options.node = whole(arguments, "node-rank", 0, 0);
  if (options.node >= options.nodes)
    throw BadLaunch{{"--node-rank counts from 0: with --nodes " + std::to_string(options.nodes) +
                     " it is at most " + std::to_string(options.nodes - 1)}};
  if (arguments.has("secret-file")) options.secret_file = arguments.get("secret-file");
  try {
    if (arguments.has("rendezvous")) options.rendezvous = parse_address(arguments.get("rendezvous"));
  } catch (const std::invalid_argument& error) {
    throw BadLaunch{{std::string("--rendezvous: ") + error.what()}};
  }
  if (options.nodes > 1 && !(options.rendezvous && options.secret_file && arguments.has("node-rank")))
    throw BadLaunch{
        {"several machines need --node-rank, --rendezvous and --secret-file on each of them",
         {"openssl rand -hex 32 > secret; chmod 600 secret   (once; copy it to every machine)",
          "runner launch --nodes 2 --node-rank 0 --rendezvous HOST:PORT --secret-file secret -n 4 RECIPE"},
         "docs/distributed.md"}};
}

void set_restarts(LaunchOptions& options, const Arguments& arguments) {
  options.max_restarts = whole(arguments, "max-restarts", 0, 0);
  if (!arguments.has("elastic")) return;
  const std::string range = arguments.get("elastic");
  int least = 0, most = 0;
  char colon = 0;
  std::istringstream in(range);
  if (!(in >> least >> colon >> most) || colon != ':' || !in.eof() || least < 1 || least > most)
    throw BadLaunch{{"--elastic needs the fewest and the most ranks, such as 2:4, not \"" + range + "\""}};
  if (options.nodes > 1) throw BadLaunch{{"--elastic works on one machine: leave --nodes out"}};
  if (options.max_restarts == 0)
    throw BadLaunch{{"--elastic needs --max-restarts: how often it may start again"}};
  if (arguments.has("ranks") && options.ranks != most)
    throw BadLaunch{{"-n and --elastic differ in how many ranks to begin with: leave -n out"}};
  options.ranks = most;
  options.fewest_ranks = least;
}

LaunchOptions launch_options(const Arguments& arguments, const Session& session) {
  LaunchOptions options;
  options.environment = session.environment;
  if (arguments.has("elastic") && !arguments.has("ranks"))
    options.ranks = 1;
  else
    set_ranks(options, arguments);
  set_machines(options, arguments);
  set_restarts(options, arguments);
  options.tee = arguments.has("tee");
  options.command = {std::filesystem::read_symlink("/proc/self/exe").string(), "run",
                     arguments.get("RECIPE")};
  for (const std::string& change : arguments.all("OVERRIDE")) options.command.push_back(change);
  if (arguments.has("dry-run")) options.command.push_back("--dry-run");
  return options;
}

int run(const Arguments& arguments, Session& session) {
  if (arguments.get("RECIPE") == "-") {
    return refuse({"launch cannot take the recipe from standard input: every rank reads it for itself",
                   {"write it to a file: runner show - > recipe.toml"}},
                  session);
  }
  // Mistakes in the recipe are said once, not by every rank.
  Diagnostics found;
  const auto resolved = resolve_recipe(
      {arguments.get("RECIPE"), session.environment, arguments.all("OVERRIDE")}, session.registry, found);
  if (!resolved) {
    session.err << render(found, session.err_style.colour);
    return Exit::bad_input;
  }
  try {
    return launch(launch_options(arguments, session), session.err);
  } catch (const BadLaunch& bad) {
    return refuse(bad.problem, session);
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
              {{.name = "ranks", .doc = "How many ranks on this machine.", .value = "N", .letter = 'n'},
               {.name = "gpus", .doc = "One rank for each of these GPUs: 0,2.", .value = "LIST"},
               {.name = "multi-gpu", .doc = "One rank for each GPU."},
               {.name = "nodes", .doc = "How many machines take part.", .value = "N"},
               {.name = "node-rank", .doc = "Which of them this is, from 0.", .value = "N"},
               {.name = "rendezvous", .doc = "Where machine 0 listens for the others.", .value = "HOST:PORT"},
               {.name = "secret-file",
                .doc = "A file with a secret that every machine has; only for several machines.",
                .value = "FILE",
                .word = Word::file},
               {.name = "max-restarts", .doc = "Start again so many times when a rank dies.", .value = "N"},
               {.name = "elastic",
                .doc = "Begin with MOST ranks and start again with those that are left, FEWEST or more.",
                .value = "FEWEST:MOST"},
               {.name = "tee", .doc = "Show the output of every rank, not only of rank 0."},
               {.name = "dry-run", .doc = "Two steps and one evaluation; leaves nothing behind."}},
          .examples = {{"runner launch -n 2 recipes/cifar10.toml", "two ranks on this machine"},
                       {"runner launch --multi-gpu recipes/cifar10.toml", "one rank for each GPU"}},
          .run = &run,
          .details =
              "Rank 0 shows its progress here; the output of the others is in ranks/ of the run's folder.\n"
              "When a rank dies, the others stop, and the exit code is that of the one that died first.\n"
              "torchrun --no-python, mpirun and srun can start `runner run` as well: docs/distributed.md."};
}

}  // namespace runner::cli
