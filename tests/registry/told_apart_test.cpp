#include "registry/told_apart.hpp"

#include <catch2/catch_all.hpp>

using namespace runner;

TEST_CASE("two sizes never look the same", "[sizes]") {
  using Texts = std::pair<std::string, std::string>;
  CHECK(told_apart({43'712'345}, {1'100'000}) == Texts{"43.7 MB", "1.1 MB"});
  CHECK(told_apart({1'102'336}, {1'101'824}) == Texts{"1102336 B", "1101824 B"});
}
