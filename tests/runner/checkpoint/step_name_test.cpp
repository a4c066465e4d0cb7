#include "runner/checkpoint/step_name.hpp"

#include <catch2/catch_all.hpp>

using namespace runner;

TEST_CASE("the name of a step can be read back, and other names are not those of a step", "[checkpoint]") {
  for (const std::int64_t step : {std::int64_t{0}, std::int64_t{100}, std::int64_t{123'456'789'012}})
    CHECK(step_of_name(step_name(step)) == step);
  CHECK(step_name(100) == "step-00000100");
  for (const char* other : {"", "step-", "step-1", "step-mine", "step-00000100-good", "step-000000100",
                            "step--0000001", "step-99999999999999999999", "latest"})
    CHECK_FALSE(step_of_name(other));
}
