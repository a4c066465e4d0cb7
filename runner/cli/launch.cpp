#include "runner/launch/launch.hpp"

#include <torch/cuda.h>

#include <bit>
#include <filesystem>
#include <ostream>
#include <sstream>

#include "runner/cli/commands.hpp"
#include "runner/cli/option_number.hpp"
#include "runner/cli/problem.hpp"
#include "runner/recipe.hpp"
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

struct Range {
  int least = 0, most = 0;
};

Range elastic_range(const std::string& text) {
  Range range;
  char colon = 0;
  std::istringstream in(text);
  if (!(in >> range.least >> colon >> range.most) || colon != ':' || !in.eof() || range.least < 1 ||
      range.least > range.most)
    throw BadLaunch{{"--elastic needs the fewest and the most ranks, such as 2:4, not \"" + text + "\""}};
  return range;
}

std::vector<int> gpus(const Arguments& arguments) {
  std::vector<int> numbers;
  if (arguments.has("multi-gpu")) {
    if (arguments.has("gpus"))
      throw BadLaunch{{"--multi-gpu uses all GPUs, --gpus only some: give one of the two"}};
    const int count = static_cast<int>(torch::cuda::device_count());
    if (count == 0) throw BadLaunch{{"--multi-gpu: no GPU was found on this machine", {}, "runner env"}};
    for (int i = 0; i < count; ++i) numbers.push_back(i);
  }
  std::istringstream list(arguments.get("gpus"));
  for (std::string item; std::getline(list, item, ',');) {
    if (item.empty() || item.find_first_not_of("0123456789") != std::string::npos || item.size() > 4)
      throw BadLaunch{
          {"--gpus needs numbers separated by commas, such as 0,2, not \"" + arguments.get("gpus") + "\""}};
    numbers.push_back(std::stoi(item));
  }
  return numbers;
}

std::string counted_gpus(std::size_t count) { return count == 1 ? "1 GPU" : std::to_string(count) + " GPUs"; }

// As many ranks as -n says, or --elastic at most, or as there are GPUs for them.
void set_ranks(LaunchOptions& options, const Arguments& arguments) {
  options.gpus = gpus(arguments);
  const int by_gpus = static_cast<int>(options.gpus.size());
  const bool elastic = arguments.has("elastic");
  if (by_gpus == 0 && !arguments.has("ranks") && !elastic)
    throw BadLaunch{
        {"the number of ranks is missing: give -n, --elastic or --gpus", {"runner launch -n 2 RECIPE"}}};
  if (elastic) {
    const Range range = elastic_range(arguments.get("elastic"));
    options.ranks = range.most;
    options.fewest_ranks = range.least;
    if (whole(arguments, "ranks", 1, range.most) != range.most)
      throw BadLaunch{{"-n and --elastic give different numbers of ranks to start with: delete -n"}};
  } else {
    options.ranks = whole(arguments, "ranks", 1, by_gpus);
  }
  if (by_gpus > 0 && options.ranks != by_gpus)
    throw BadLaunch{{std::string(elastic ? "--elastic" : "-n") + " asks for " +
                     std::to_string(options.ranks) + " ranks, but there are " +
                     counted_gpus(options.gpus.size()) + ": each rank needs one of its own"}};
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
  if (options.nodes > 1 && options.rendezvous && is_loopback_in_disguise(*options.rendezvous))
    throw BadLaunch{
        {"--rendezvous: " + options.rendezvous->host +
             " is a loopback address on this machine, which other machines cannot reach",
         {"give an IP address of machine 0, as `ip addr` shows them there, or correct /etc/hosts"}}};
  if (options.nodes > 1 && !(options.rendezvous && options.secret_file && arguments.has("node-rank")))
    throw BadLaunch{
        {"several machines need --node-rank, --rendezvous and --secret-file on each of them",
         {"openssl rand -hex 32 > secret; chmod 600 secret   (once; copy it to every machine)",
          "runner launch --nodes 2 --node-rank 0 --rendezvous HOST:PORT --secret-file secret -n 4 RECIPE"},
         "docs/distributed.md"}};
}

void set_restarts(LaunchOptions& options, const Arguments& arguments, const Recipe& recipe) {
  options.max_restarts = whole(arguments, "max-restarts", 0, 0);
  if (!options.fewest_ranks) return;
  if (options.nodes > 1) throw BadLaunch{{"--elastic works only on one machine: delete --nodes"}};
  if (options.max_restarts == 0)
    throw BadLaunch{{"--elastic needs --max-restarts, the number of restarts allowed"}};
  options.power_of_two = recipe.distributed.reproducible;
  const auto fits = [](int ranks) { return std::has_single_bit(static_cast<unsigned>(ranks)); };
  if (options.power_of_two && !(fits(*options.fewest_ranks) && fits(options.ranks)))
    throw BadLaunch{{"--elastic " + arguments.get("elastic") +
                     ": distributed.reproducible needs powers of two, such as 2:4"}};
}

// What `runner run` gets in each rank.
void set_command(LaunchOptions& options, const Arguments& arguments) {
  options.command = {std::filesystem::read_symlink("/proc/self/exe").string(), "run",
                     arguments.get("RECIPE")};
  for (const char* flag : {"dry-run", "force"})
    if (arguments.has(flag)) options.command.push_back(std::string("--") + flag);
  for (const std::string& change : arguments.all("OVERRIDE")) options.command.push_back(change);
  if (arguments.has("resume")) options.resume = arguments.get("resume");
}

LaunchOptions launch_options(const Arguments& arguments, const Session& session, const Recipe& recipe) {
  LaunchOptions options;
  options.environment = session.environment;
  options.tee = arguments.has("tee");
  set_ranks(options, arguments);
  set_machines(options, arguments);
  set_restarts(options, arguments, recipe);
  set_command(options, arguments);
  return options;
}

int run(const Arguments& arguments, Session& session) {
  if (arguments.get("RECIPE") == "-") {
    return refuse({"launch cannot read the recipe from standard input: every rank reads it again",
                   {"write it to a file: runner show - > recipe.toml"}},
                  session);
  }
  // Mistakes in the recipe are reported once, not by every rank.
  Diagnostics found;
  const auto resolved = resolve_recipe(
      {arguments.get("RECIPE"), session.environment, arguments.all("OVERRIDE")}, session.registry, found);
  if (!resolved) {
    session.err << render(found, session.err_style.colour);
    return Exit::bad_input;
  }
  try {
    const Recipe recipe = decode_table<Recipe>(*resolved, session.registry);
    return launch(launch_options(arguments, session, recipe), session.err);
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
              {{.name = "ranks", .doc = "Number of ranks on this machine.", .value = "N", .letter = 'n'},
               {.name = "gpus", .doc = "One rank for each of these GPUs: 0,2.", .value = "LIST"},
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
