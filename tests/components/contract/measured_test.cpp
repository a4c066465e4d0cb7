#include "components/contract/measured.hpp"

#include <catch2/catch_all.hpp>

#include <limits>

namespace runner {
namespace {

using Catch::Matchers::ContainsSubstring;

const std::vector<Measured> measured{
    {"eval/accuracy", Better::max}, {"eval/loss", Better::min}, {"eval/recall/*", Better::max}, {"eval/odd"}};

TEST_CASE("a measurement is better in the direction of its metric; NaN never is") {
  CHECK(is_better(Better::max, 2, 1));
  CHECK(!is_better(Better::max, 1, 1));
  CHECK(is_better(Better::min, 1, 2));
  CHECK(!is_better(Better::min, 2, 1));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const Better better : {Better::max, Better::min}) CHECK(!is_better(better, nan, 1));
}

TEST_CASE("the direction is the measurement's own") {
  CHECK(direction_of({"eval/accuracy"}, measured, "x") == Better::max);
  CHECK(direction_of({"eval/loss"}, measured, "x") == Better::min);
  CHECK(direction_of({"eval/loss", Better::min}, measured, "x") == Better::min);
  CHECK(direction_of({"eval/recall/cat"}, measured, "x") == Better::max);
  CHECK(direction_of({"eval/odd", Better::min}, measured, "x") == Better::min);
}

TEST_CASE("mistakes with watched measurements are reported") {
  CHECK(problem_of({"eval/loss"}, measured).empty());
  CHECK_THAT(problem_of({"eval/loss", Better::max}, measured),
             ContainsSubstring("lower is better for this metric; delete mode"));
  CHECK_THAT(problem_of({"eval/accuracy", Better::min}, measured), ContainsSubstring("higher is better"));
  CHECK_THAT(problem_of({"eval/odd"}, measured), ContainsSubstring("set mode"));
  CHECK_THAT(problem_of({"eval/los"}, measured), ContainsSubstring("did you mean \"eval/loss\"?"));
  CHECK_THAT(problem_of({"loss"}, measured), ContainsSubstring("did you mean \"eval/loss\"?"));
  CHECK_THAT(problem_of({"eval/loss"}, {}), ContainsSubstring("[[eval.metric]]"));
  CHECK_THROWS_WITH(direction_of({"eval/los"}, measured, "hook \"x\""),
                    ContainsSubstring("hook \"x\" watches"));
}

}  // namespace
}  // namespace runner
