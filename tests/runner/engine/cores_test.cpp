#include "runner/engine/cores.hpp"

#include <sched.h>

#include <catch2/catch_all.hpp>

using namespace runner;

TEST_CASE("cores: those that the process is confined to") {
  cpu_set_t before;
  REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
  CHECK(usable_cores() == CPU_COUNT(&before));

  cpu_set_t one;
  CPU_ZERO(&one);
  for (int core = 0; CPU_COUNT(&one) == 0; ++core) {
    if (CPU_ISSET(core, &before)) CPU_SET(core, &one);
  }
  REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
  CHECK(usable_cores() == 1);
  sched_setaffinity(0, sizeof before, &before);
}
