#include "runner/ranks/membership.hpp"

#include <unistd.h>

#include <charconv>
#include <fstream>
#include <stdexcept>

#include "registry/base/log.hpp"
#include "registry/base/machine.hpp"
#include "registry/base/wording.hpp"

namespace runner {

Environment process_environment() {
  Environment variables;
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string text = *entry;
    const auto equals = text.find('=');
    if (equals != std::string::npos) variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

namespace {

using Launcher = Membership::Launcher;

// Host name and boot id: cloned machines have the same host name, and containers the same kernel.
std::string machine_name() {
  std::ifstream in("/proc/sys/kernel/random/boot_id");
  std::string boot;
  std::getline(in, boot);
  return boot + " " + host_name();
}

// Reads the variables of one launcher.
class Variables {
 public:
  Variables(const Environment& environment, std::string launcher)
      : environment_(environment), launcher_(std::move(launcher)) {}

  std::optional<std::string> find(const std::string& name) const {
    const auto found = environment_.find(name);
    return found == environment_.end() || found->second.empty() ? std::nullopt : std::optional(found->second);
  }

  std::string text(const std::string& name) const {
    if (const auto found = find(name)) return *found;
    throw std::runtime_error(
        log::format("This process seems to have been started by {}, but {} is not set.", launcher_, name));
  }

  int number(const std::string& name) const {
    const std::string value = text(name);
    int result = 0;
    const char* const end = value.data() + value.size();
    const auto [stopped, error] = std::from_chars(value.data(), end, result);
    if (stopped != end || error != std::errc{} || result < 0)
      throw std::runtime_error(log::format("{} is {} (set by {}), which is not a valid number.", name,
                                           in_quotes(value), launcher_));
    return result;
  }

  int number(const std::string& name, int otherwise) const { return find(name) ? number(name) : otherwise; }

  Place place(const std::string& rank, const std::string& size, const std::string& local_rank,
              const std::string& local_size) const {
    Place place{number(rank),       number(size), number(local_rank),
                number(local_size), host_name(),  machine_name()};
    if (place.rank >= place.size || place.local_rank >= place.local_size || place.local_size > place.size)
      throw std::runtime_error(log::format(
          "{} has set {} = {} with {} = {}, and {} = {} with {} = {}: these contradict each other.",
          launcher_, rank, place.rank, size, place.size, local_rank, place.local_rank, local_size,
          place.local_size));
    return place;
  }

  // Where to meet, as torchrun and compatible launchers set it.
  Address master() const {
    constexpr int highest_port = 65535;
    const int port = number("MASTER_PORT");
    if (port < 1 || port > highest_port)
      throw std::runtime_error(log::format(
          "MASTER_PORT is {}; it must be the number of a port, from 1 to {}.", port, highest_port));
    return {text("MASTER_ADDR"), port};
  }
  std::optional<Address> find_master() const {
    if (!find("MASTER_ADDR") && !find("MASTER_PORT")) return {};
    return master();
  }

 private:
  const Environment& environment_;
  const std::string launcher_;
};

Membership by_runner(const Environment& environment) {
  const Variables variables(environment, "runner launch");
  Membership member{
      Launcher::runner,
      variables.place(variable::rank, variable::size, variable::local_rank, variable::local_size),
      variables.number(variable::restart, 0)};
  // The ranks of a machine are consecutive. Containers may have no other name that distinguishes them.
  member.place.machine = log::format("of rank {}", member.place.rank - member.place.local_rank);
  member.meet = parse_address(variables.text(variable::store));
  if (variables.find(variable::secret_descriptor))
    member.secret_descriptor = variables.number(variable::secret_descriptor);
  member.secret_file = variables.find(variable::secret_file);
  return member;
}

Membership by_torchrun(const Environment& environment) {
  const Variables variables(environment, "torchrun");
  Membership member{Launcher::torchrun,
                    variables.place("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"),
                    variables.number("TORCHELASTIC_RESTART_COUNT", 0)};
  member.meet = variables.master();
  member.serves_store = member.place.rank == 0 && variables.find("TORCHELASTIC_USE_AGENT_STORE") != "True";
  return member;
}

Membership by_mpirun(const Environment& environment) {
  const Variables variables(environment, "mpirun");
  Membership member{Launcher::mpirun,
                    variables.place("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                                    "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE")};
  const auto job = variables.find("PMIX_NAMESPACE");
  member.job = "mpi-" + (job ? *job : variables.text("OMPI_MCA_ess_base_jobid"));
  member.meet = variables.find_master();
  member.secret_file = variables.find(variable::secret_file);
  return member;
}

// "4", "4(x2)", "4(x2),3": how many tasks each node has, in the order of the nodes.
int tasks_of_node(const std::string& text, int node) {
  const char* at = text.data();
  const char* const end = at + text.size();
  for (int next = 0; at < end; ++at) {
    int tasks = 0, repeats = 1;
    at = std::from_chars(at, end, tasks).ptr;
    if (end - at > 2 && at[0] == '(' && at[1] == 'x') at = std::from_chars(at + 2, end, repeats).ptr + 1;
    next += repeats;
    if (node < next) return tasks;
  }
  throw std::runtime_error("SLURM_STEP_TASKS_PER_NODE is " + in_quotes(text) + ": it does not mention node " +
                           std::to_string(node) + ".");
}

Membership by_srun(const Environment& environment) {
  const Variables variables(environment, "srun");
  const std::string per_node = variables.text("SLURM_STEP_TASKS_PER_NODE");
  Environment completed = environment;
  completed["SLURM_LOCAL_SIZE"] = std::to_string(tasks_of_node(per_node, variables.number("SLURM_NODEID")));
  Membership member{Launcher::srun,
                    Variables(completed, "srun")
                        .place("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_LOCAL_SIZE")};
  member.job = "slurm-" + variables.text("SLURM_JOB_ID") + "." + variables.text("SLURM_STEP_ID");
  member.meet = variables.find_master();
  member.secret_file = variables.find(variable::secret_file);
  return member;
}

// The variables of PyTorch's env://, which operators of clusters and scripts set, too. Each rank counts as a
// machine of its own unless they also say which ranks share one.
Membership by_environment(const Environment& environment) {
  const Variables variables(environment, "a launcher that sets RANK and WORLD_SIZE");
  Environment completed = environment;
  const bool knows_machines = variables.find("LOCAL_RANK") || variables.find("LOCAL_WORLD_SIZE");
  if (!knows_machines) completed.insert_or_assign("LOCAL_RANK", "0");
  if (!knows_machines) completed.insert_or_assign("LOCAL_WORLD_SIZE", "1");
  if (!variables.find("MASTER_ADDR") || !variables.find("MASTER_PORT"))
    throw std::runtime_error(log::format(
        "RANK = {} and WORLD_SIZE = {} say that this process is one of several ranks, but not where they "
        "meet. Set MASTER_ADDR and MASTER_PORT to an address of rank 0's machine and a free port there, or "
        "unset WORLD_SIZE to train alone.",
        variables.text("RANK"), variables.text("WORLD_SIZE")));
  Membership member{Launcher::environment,
                    Variables(completed, "a launcher that sets RANK and WORLD_SIZE")
                        .place("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")};
  if (!knows_machines) member.place.machine = log::format("of rank {}", member.place.rank);
  member.meet = variables.master();
  member.secret_file = variables.find(variable::secret_file);
  member.serves_store = member.place.rank == 0;
  return member;
}

// Whether the variables are set and there is more than one rank.
bool has_several_ranks(const Environment& environment) {
  const auto size = environment.find("WORLD_SIZE");
  if (size == environment.end() || !environment.contains("RANK")) return false;
  return !size->second.empty() && size->second != "0" && size->second != "1";
}

// The variables that tell which launcher started a process.
constexpr auto mark_of_torchrun = "TORCHELASTIC_RUN_ID", mark_of_mpirun = "OMPI_COMM_WORLD_RANK",
               mark_of_srun = "SLURM_STEP_ID";

std::optional<Membership> told(const Environment& environment) {
  const auto has = [&](const char* name) { return environment.contains(name); };
  if (has(variable::rank)) return by_runner(environment);
  if (has(mark_of_torchrun)) return by_torchrun(environment);
  if (has(mark_of_mpirun)) return by_mpirun(environment);
  // Not SLURM_NTASKS: it is also set in a batch script, which is a single process.
  if (has(mark_of_srun) && has("SLURM_STEP_NUM_TASKS") && has("SLURM_PROCID")) return by_srun(environment);
  if (has_several_ranks(environment)) return by_environment(environment);
  return {};
}

}  // namespace

std::optional<Membership> membership(const Environment& environment) {
  const auto member = told(environment);
  // A single rank still reports its run folder and its progress to `runner launch`.
  if (member && member->place.size == 1 && member->launcher != Launcher::runner) return {};
  return member;
}

Environment without_membership(Environment environment) {
  for (const char* mark : {variable::rank, mark_of_torchrun, mark_of_mpirun, mark_of_srun, "WORLD_SIZE"})
    environment.erase(mark);
  return environment;
}

}  // namespace runner
