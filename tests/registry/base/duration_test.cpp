#include "registry/base/duration.hpp"

#include <catch2/catch_all.hpp>

#include <random>

namespace runner {
namespace {

using Catch::Matchers::ContainsSubstring;

Duration parsed(std::string_view text) {
  const auto result = parse_duration(text);
  INFO(text);
  REQUIRE(std::holds_alternative<Duration>(result));
  return std::get<Duration>(result);
}

std::string problem(std::string_view text) {
  const auto result = parse_duration(text);
  INFO(text);
  REQUIRE(std::holds_alternative<std::string>(result));
  return std::get<std::string>(result);
}

}  // namespace

TEST_CASE("duration: a number and its unit", "[duration]") {
  CHECK(parsed("5ep") == epochs(5));
  CHECK(parsed("0.5ep") == epochs(0.5));
  CHECK(parsed("500step") == steps(500));
  CHECK(parsed("1e3step") == steps(1000));
  CHECK(parsed("30s") == seconds(30));
  CHECK(parsed("30min") == seconds(1800));
  CHECK(parsed("2h") == seconds(7200));
  CHECK(parsed("1.5d") == seconds(129600));
  CHECK(parsed("0.1run") == share_of_run(0.1));
  CHECK(parsed("  7 step ") == steps(7));
  CHECK(parsed("0step") == steps(0));
  CHECK(to_string(parsed("-0ep")) == "0ep");
}

TEST_CASE("duration: what is no duration says why", "[duration]") {
  CHECK_THAT(problem(""), ContainsSubstring("needs a number and a unit"));
  CHECK_THAT(problem("step"), ContainsSubstring("needs a number and a unit"));
  CHECK_THAT(problem("5"), ContainsSubstring("needs a unit (ep, step, s, min, h, d, run)"));
  CHECK_THAT(problem("5steps"), ContainsSubstring("did you mean \"step\"?"));
  CHECK_THAT(problem("5parsec"), ContainsSubstring("unknown unit \"parsec\""));
  CHECK_THAT(problem("1.5step"), ContainsSubstring("whole number of steps"));
  CHECK_THAT(problem("2run"), ContainsSubstring("at most \"1run\""));
  CHECK_THAT(problem("-1ep"), ContainsSubstring("not negative"));
  CHECK_THAT(problem("infh"), ContainsSubstring("finite"));
  CHECK_THAT(problem("nanep"), ContainsSubstring("finite"));
  CHECK_THAT(problem("1e400h"), ContainsSubstring("out of range"));
  CHECK_THAT(problem("1e16s"), ContainsSubstring("longer than any run"));
  CHECK_THAT(problem("5 ep ep"), ContainsSubstring("unknown unit"));
}

TEST_CASE("duration: written in the largest unit that stays whole", "[duration]") {
  CHECK(to_string(seconds(7200)) == "2h");
  CHECK(to_string(seconds(90)) == "90s");
  CHECK(to_string(seconds(5400)) == "90min");
  CHECK(to_string(seconds(172800)) == "2d");
  CHECK(to_string(seconds(0)) == "0s");
  CHECK(to_string(seconds(0.25)) == "0.25s");
  CHECK(to_string(steps(1000000)) == "1000000step");
}

TEST_CASE("duration: any duration reads back as itself", "[duration]") {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> exponent(-12, 14);
  for (int i = 0; i < 2000; ++i) {
    const double amount = std::pow(10, exponent(random));
    for (const Duration& duration :
         {epochs(amount), steps(std::floor(amount)), seconds(amount), share_of_run(amount / 1e15)}) {
      CHECK(parsed(to_string(duration)) == duration);
    }
  }
}

}  // namespace runner
