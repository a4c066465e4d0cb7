#include "runner/ranks/membership.hpp"

#include <catch2/catch_all.hpp>

#include "registry/base/log.hpp"
#include "tests/support/quiet.hpp"

using namespace runner;
using Catch::Matchers::ContainsSubstring;
using Launcher = Membership::Launcher;

TEST_CASE("membership: a process that nobody launched, or that is alone, belongs to nothing") {
  CHECK_FALSE(membership({}));
  CHECK_FALSE(
      membership({{"PATH", "/bin"}, {"SLURM_JOB_ID", "1"}, {"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "0"}}));
  CHECK_FALSE(membership({{"TORCHELASTIC_RUN_ID", "none"},
                          {"RANK", "0"},
                          {"WORLD_SIZE", "1"},
                          {"LOCAL_RANK", "0"},
                          {"LOCAL_WORLD_SIZE", "1"},
                          {"MASTER_ADDR", "localhost"},
                          {"MASTER_PORT", "29500"}}));
}

TEST_CASE("membership: torchrun, which has to say where to meet") {
  Environment environment{{"TORCHELASTIC_RUN_ID", "none"},
                          {"RANK", "1"},
                          {"WORLD_SIZE", "2"},
                          {"LOCAL_RANK", "1"},
                          {"LOCAL_WORLD_SIZE", "2"},
                          {"MASTER_ADDR", "localhost"},
                          {"MASTER_PORT", "29500"}};
  CHECK(membership(environment)->meet->port == 29500);
  environment["MASTER_PORT"] = "70000";
  CHECK_THROWS_WITH(membership(environment), ContainsSubstring("from 1 to 65535"));
  environment.erase("MASTER_ADDR");
  environment.erase("MASTER_PORT");
  CHECK_THROWS_WITH(membership(environment), ContainsSubstring("MASTER_"));
}

TEST_CASE("membership: rank 0 of torchrun serves the store unless torchrun does") {
  Environment environment{{"TORCHELASTIC_RUN_ID", "none"},
                          {"RANK", "0"},
                          {"WORLD_SIZE", "2"},
                          {"LOCAL_RANK", "0"},
                          {"LOCAL_WORLD_SIZE", "2"},
                          {"MASTER_ADDR", "localhost"},
                          {"MASTER_PORT", "29500"},
                          {"TORCHELASTIC_USE_AGENT_STORE", "True"}};
  CHECK_FALSE(membership(environment)->serves_store);
  environment["TORCHELASTIC_USE_AGENT_STORE"] = "False";
  CHECK(membership(environment)->serves_store);
  environment["RANK"] = environment["LOCAL_RANK"] = "1";
  CHECK_FALSE(membership(environment)->serves_store);
  environment["WORLD_SIZE"] = "99999999999999999999";
  CHECK_THROWS_WITH(membership(environment), ContainsSubstring("WORLD_SIZE is \"99999999999999999999\""));
}

TEST_CASE("membership: a launcher that sets only what PyTorch's env:// reads") {
  Environment environment{{"RANK", "1"}, {"WORLD_SIZE", "1"}};
  CHECK_FALSE(membership(environment));
  environment["WORLD_SIZE"] = "2";
  CHECK_FALSE(membership(without_membership(environment)));
  // It does not train alone in silence.
  CHECK_THROWS_WITH(membership(environment), ContainsSubstring("Set MASTER_ADDR and MASTER_PORT") &&
                                                 ContainsSubstring("unset WORLD_SIZE"));
  environment["MASTER_ADDR"] = "job-master-0";
  environment["MASTER_PORT"] = "23456";
  auto member = membership(environment);
  REQUIRE(member);
  CHECK(member->launcher == Launcher::environment);
  CHECK(member->place.rank == 1);
  CHECK(member->place.size == 2);
  CHECK(member->place.local_size == 1);  // as far as anybody knows
  CHECK(member->meet->host == "job-master-0");
  CHECK_FALSE(member->serves_store);
  CHECK_FALSE(member->on_one_machine());
  const std::string machine = member->place.machine;
  environment["RANK"] = "0";
  member = membership(environment);
  CHECK(member->serves_store);
  CHECK(member->place.machine != machine);
  environment["LOCAL_RANK"] = "0";
  CHECK_THROWS_WITH(membership(environment), ContainsSubstring("LOCAL_WORLD_SIZE is not set"));
  environment["LOCAL_WORLD_SIZE"] = "2";
  CHECK(membership(environment)->on_one_machine());
  environment["RANK"] = "7";
  CHECK_THROWS_WITH(membership(environment), ContainsSubstring("contradict"));
}

TEST_CASE("membership: the only rank of runner launch still belongs to it") {
  const auto member = membership({{variable::rank, "0"},
                                  {variable::size, "1"},
                                  {variable::local_rank, "0"},
                                  {variable::local_size, "1"},
                                  {variable::store, "127.0.0.1:4000"}});
  REQUIRE(member);
  CHECK(member->place.size == 1);
}

TEST_CASE("membership: machines of runner launch differ, whatever their host names are") {
  const auto machine_of = [](const char* rank, const char* local_rank) {
    return membership({{variable::rank, rank},
                       {variable::size, "4"},
                       {variable::local_rank, local_rank},
                       {variable::local_size, "2"},
                       {variable::store, "127.0.0.1:4000"}})
        ->place.machine;
  };
  CHECK(machine_of("0", "0") == machine_of("1", "1"));
  CHECK(machine_of("2", "0") == machine_of("3", "1"));
  CHECK(machine_of("1", "1") != machine_of("2", "0"));
}

TEST_CASE("membership: runner launch") {
  const auto member = membership({{variable::rank, "5"},
                                  {variable::size, "8"},
                                  {variable::local_rank, "1"},
                                  {variable::local_size, "4"},
                                  {variable::restart, "2"},
                                  {variable::store, "[::1]:4000"},
                                  {variable::secret_descriptor, "7"}});
  REQUIRE(member);
  CHECK(member->launcher == Launcher::runner);
  CHECK(member->place.rank == 5);
  CHECK(member->place.size == 8);
  CHECK(member->place.local_rank == 1);
  CHECK_FALSE(member->place.host.empty());
  CHECK(member->restart == 2);
  CHECK(member->meet->host == "::1");
  CHECK(member->meet->port == 4000);
  CHECK(member->secret_descriptor == 7);
  CHECK_FALSE(member->on_one_machine());
}

TEST_CASE("membership: mpirun") {
  Environment environment{{"OMPI_COMM_WORLD_RANK", "1"},
                          {"OMPI_COMM_WORLD_SIZE", "2"},
                          {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                          {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                          {"PMIX_NAMESPACE", "4242"}};
  const auto member = membership(environment);
  REQUIRE(member);
  CHECK(member->launcher == Launcher::mpirun);
  CHECK(member->job == "mpi-4242");
  CHECK(member->on_one_machine());
  CHECK_FALSE(member->meet);
  environment["MASTER_ADDR"] = "10.0.0.1";
  CHECK_THROWS_WITH(membership(environment), ContainsSubstring("MASTER_PORT"));
  environment["MASTER_PORT"] = "4000";
  CHECK(membership(environment)->meet->host == "10.0.0.1");
  for (const char* port : {"0", "70000"}) {
    environment["MASTER_PORT"] = port;
    CHECK_THROWS_WITH(membership(environment), ContainsSubstring("from 1 to 65535"));
  }
}

TEST_CASE("membership: srun, with nodes of different sizes") {
  Environment environment{{"SLURM_JOB_ID", "7"},
                          {"SLURM_STEP_ID", "0"},
                          {"SLURM_PROCID", "9"},
                          {"SLURM_LOCALID", "1"},
                          {"SLURM_NODEID", "2"},
                          {"SLURM_STEP_NUM_TASKS", "11"},
                          {"SLURM_STEP_TASKS_PER_NODE", "4(x2),3"}};
  const auto member = membership(environment);
  REQUIRE(member);
  CHECK(member->launcher == Launcher::srun);
  CHECK(member->place.local_size == 3);
  CHECK(member->job == "slurm-7.0");
  environment["SLURM_NODEID"] = "1";
  CHECK(membership(environment)->place.local_size == 4);
  environment["SLURM_NODEID"] = "3";
  CHECK_THROWS_WITH(membership(environment), ContainsSubstring("does not mention node 3"));
}

TEST_CASE("membership: a process may be started outside of all ranks") {
  const Environment by_mpirun{{"OMPI_COMM_WORLD_RANK", "1"},
                              {"OMPI_COMM_WORLD_SIZE", "2"},
                              {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                              {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                              {"PMIX_NAMESPACE", "4242"}};
  const Environment by_srun{{"SLURM_JOB_ID", "7"},
                            {"SLURM_STEP_ID", "0"},
                            {"SLURM_PROCID", "0"},
                            {"SLURM_LOCALID", "0"},
                            {"SLURM_NODEID", "0"},
                            {"SLURM_STEP_NUM_TASKS", "2"},
                            {"SLURM_STEP_TASKS_PER_NODE", "1(x2)"}};
  const Environment by_torchrun{{"TORCHELASTIC_RUN_ID", "none"},
                                {"RANK", "0"},
                                {"WORLD_SIZE", "2"},
                                {"LOCAL_RANK", "0"},
                                {"LOCAL_WORLD_SIZE", "2"},
                                {"MASTER_ADDR", "localhost"},
                                {"MASTER_PORT", "29500"}};
  const Environment by_runner{{variable::rank, "0"},
                              {variable::size, "2"},
                              {variable::local_rank, "0"},
                              {variable::local_size, "2"},
                              {variable::store, "127.0.0.1:4000"}};
  for (const Environment& environment : {by_mpirun, by_srun, by_torchrun, by_runner}) {
    CHECK(membership(environment));
    CHECK_FALSE(membership(without_membership(environment)));
  }
  CHECK(without_membership({{"PATH", "/bin"}}) == Environment{{"PATH", "/bin"}});
}

TEST_CASE("membership: variables that make no sense are refused, by name") {
  Environment environment{{variable::rank, "2"},
                          {variable::size, "2"},
                          {variable::local_rank, "0"},
                          {variable::local_size, "1"},
                          {variable::store, "127.0.0.1:1"}};
  CHECK_THROWS_WITH(membership(environment), ContainsSubstring("contradict each other"));
  environment[variable::rank] = "one";
  CHECK_THROWS_WITH(membership(environment), ContainsSubstring("RUNNER_RANK is \"one\""));
  environment.erase(variable::size);
  environment[variable::rank] = "1";
  CHECK_THROWS_WITH(membership(environment), ContainsSubstring("RUNNER_WORLD_SIZE"));
}

TEST_CASE("addresses") {
  CHECK(parse_address("host:80").port == 80);
  CHECK(to_string(parse_address("[fe80::1]:80")) == "[fe80::1]:80");
  for (const char* bad : {"host", "host:", ":80", "host:x", "host:70000", "host:-1"})
    CHECK_THROWS_WITH(parse_address(bad), ContainsSubstring("HOST:PORT"));
  CHECK(own_address_towards({"127.0.0.1", 9}) == "127.0.0.1");
}
