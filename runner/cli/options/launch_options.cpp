#include "runner/cli/options/launch_options.hpp"

#include <torch/cuda.h>

#include <algorithm>
#include <bit>
#include <sstream>
#include <thread>

#include "registry/base/log.hpp"
#include "registry/base/wording.hpp"
#include "runner/cli/options/option_number.hpp"
#include "runner/process/processes.hpp"
#include "runner/ranks/launch/visible_gpus.hpp"
#include "runner/ranks/meeting_place.hpp"

namespace runner::cli {

namespace {

int whole(const Arguments& arguments, std::string_view name, int least, int otherwise) {
  constexpr std::int64_t most = 65536;
  const auto given = whole_option(arguments, name, least);
  if (!given) return otherwise;
  if (*given > most) throw BadNumber{arguments.spelling(name) + " is larger than " + std::to_string(most)};
  return static_cast<int>(*given);
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
    throw BadLaunch{{"--elastic needs the fewest and the most ranks, such as 2:4, not " + in_quotes(text)}};
  return range;
}

// They are counted among those that CUDA_VISIBLE_DEVICES lists, as LibTorch counts them.
void require_visible(const std::vector<int>& gpus, const Environment& environment) {
  const auto listed = listed_gpus(environment);
  if (!listed) return;
  for (const int gpu : gpus) {
    if (static_cast<std::size_t>(gpu) < listed->size()) continue;
    throw BadLaunch{
        {log::format("--gpus: there is no GPU {} among the {} that CUDA_VISIBLE_DEVICES lists; they are "
                     "counted from 0",
                     gpu, listed->size())}};
  }
}

std::vector<int> gpus(const Arguments& arguments, const Environment& environment) {
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
          {"--gpus needs numbers separated by commas, such as 0,2, not " + in_quotes(arguments.get("gpus"))}};
    numbers.push_back(std::stoi(item));
    if (std::ranges::count(numbers, numbers.back()) > 1)
      throw BadLaunch{{"--gpus names GPU " + item + " twice: each rank needs one of its own"}};
  }
  require_visible(numbers, environment);
  return numbers;
}

// The number of ranks on this machine: that of -n, the most of --elastic, or one for each GPU. With several
// machines, --elastic counts the ranks of all of them.
void set_ranks(LaunchOptions& options, const Arguments& arguments) {
  options.gpus = gpus(arguments, options.environment);
  const int by_gpus = static_cast<int>(options.gpus.size());
  const bool elastic = arguments.has("elastic"), several_machines = options.nodes > 1;
  if (by_gpus == 0 && !arguments.has("ranks") && elastic && several_machines)
    throw BadLaunch{
        {"with several machines --elastic counts the ranks of all of them: give the number of "
         "ranks on this one with -n or --gpus"}};
  if (by_gpus == 0 && !arguments.has("ranks") && !elastic)
    throw BadLaunch{
        {"the number of ranks is missing: give -n, --elastic or --gpus", {"runner launch -n 2 RECIPE"}}};
  if (elastic) {
    const Range range = elastic_range(arguments.get("elastic"));
    options.fewest_ranks = range.least;
    options.most_ranks = range.most;
    options.ranks = whole(arguments, "ranks", 1, several_machines ? by_gpus : range.most);
    if (!several_machines && options.ranks != range.most)
      throw BadLaunch{{"-n and --elastic give different numbers of ranks to start with: delete -n"}};
  } else {
    options.ranks = whole(arguments, "ranks", 1, by_gpus);
  }
  require_room(arguments.has("ranks") ? arguments.spelling("ranks")
               : elastic              ? "--elastic"
                                      : "--gpus",
               options.ranks);
  if (by_gpus > 0 && options.ranks != by_gpus)
    throw BadLaunch{{std::string(elastic ? "--elastic" : "-n") + " asks for " +
                     std::to_string(options.ranks) + " ranks, but there are " +
                     counted(options.gpus.size(), "GPU") + ": each rank needs one of its own"}};
}

Address rendezvous(const std::string& text, int machines) {
  Address address;
  bool unreachable = false;
  try {
    address = parse_address(text);
    unreachable = machines > 1 && is_loopback_in_disguise(address);
  } catch (const std::exception& error) {
    throw BadLaunch{{std::string("--rendezvous: ") + error.what()}};
  }
  if (unreachable)
    throw BadLaunch{
        {"--rendezvous: " + address.host +
             " is a loopback address on this machine, which other machines cannot reach",
         {"give an IP address of machine 0, as `ip addr` shows them there, or correct /etc/hosts"}}};
  if (machines > 1 && address.port == 0)
    throw BadLaunch{
        {"--rendezvous: several machines need to know the port: choose one that is free on "
         "machine 0, such as " +
         address.host + ":29500"}};
  return address;
}

void set_machines(LaunchOptions& options, const Arguments& arguments) {
  options.nodes = whole(arguments, "nodes", 1, 1);
  options.node = whole(arguments, "node-rank", 0, 0);
  if (options.node >= options.nodes)
    throw BadLaunch{{"--node-rank counts from 0: with --nodes " + std::to_string(options.nodes) +
                     " it is at most " + std::to_string(options.nodes - 1)}};
  if (arguments.has("rendezvous"))
    options.rendezvous = rendezvous(arguments.get("rendezvous"), options.nodes);
  const bool complete = options.rendezvous && arguments.has("secret-file") && arguments.has("node-rank");
  if (options.nodes > 1 && !complete)
    throw BadLaunch{
        {"several machines need --node-rank, --rendezvous and --secret-file on each of them",
         {"openssl rand -hex 32 > secret; chmod 600 secret   (once; copy it to every machine)",
          "runner launch --nodes 2 --node-rank 0 --rendezvous HOST:PORT --secret-file secret -n 4 RECIPE"},
         "docs/distributed.md"}};
  try {
    if (arguments.has("secret-file")) options.secret = read_secret_file(arguments.get("secret-file"));
  } catch (const std::exception& error) {
    throw BadLaunch{{std::string("--secret-file: ") + error.what()}};
  }
}

void set_restarts(LaunchOptions& options, const Arguments& arguments, const Recipe& recipe) {
  options.max_restarts = whole(arguments, "max-restarts", 0, 0);
  if (!options.fewest_ranks) return;
  if (options.max_restarts == 0)
    throw BadLaunch{{"--elastic needs --max-restarts, the number of restarts allowed"}};
  options.power_of_two = recipe.distributed.reproducible;
  const auto fits = [](int ranks) { return std::has_single_bit(static_cast<unsigned>(ranks)); };
  if (options.power_of_two && !(fits(*options.fewest_ranks) && fits(options.most_ranks)))
    throw BadLaunch{{"--elastic " + arguments.get("elastic") +
                     ": distributed.reproducible needs powers of two, such as 2:4"}};
}

// The command that each rank runs.
void set_command(LaunchOptions& options, const Arguments& arguments) {
  options.command = {own_program(), "run", arguments.get("RECIPE")};
  for (const char* flag : {"dry-run", "force"})
    if (arguments.has(flag)) options.command.push_back(std::string("--") + flag);
  for (const std::string& change : arguments.all("OVERRIDE")) options.command.push_back(change);
  if (arguments.has("resume")) options.resume = arguments.get("resume");
}

}  // namespace

void require_room(const std::string& option, std::int64_t ranks) {
  // Far beyond what is useful, but short of what would bring the machine down.
  constexpr std::int64_t in_any_case = 32, for_each_core = 8;
  const std::int64_t cores = std::thread::hardware_concurrency();
  const std::int64_t most = std::max(in_any_case, for_each_core * cores);
  if (ranks <= most) return;
  const std::string count = std::to_string(ranks);
  throw BadLaunch{{option + " asks for " + count + " ranks on a machine with " + std::to_string(cores) +
                       " cores: at most " + std::to_string(most) + " are started",
                   {"runner estimate RECIPE --ranks " + count + "   (simulates them)"}}};
}

bool fits_ranks(const Value& resolved, const Recipe& recipe, int ranks, Diagnostics& diagnostics) {
  Report report(diagnostics, *resolved.as<Table>()->find("distributed"), "[distributed]",
                "runner describe section distributed");
  check_ranks(recipe.distributed, ranks, report);
  return diagnostics.ok();
}

LaunchOptions launch_options(const Arguments& arguments, const Environment& environment,
                             const Recipe& recipe) {
  LaunchOptions options;
  options.environment = environment;
  options.tee = arguments.has("tee");
  options.timeout = timeout_of(recipe.distributed);
  set_machines(options, arguments);
  set_ranks(options, arguments);
  set_restarts(options, arguments, recipe);
  set_command(options, arguments);
  return options;
}

}  // namespace runner::cli
