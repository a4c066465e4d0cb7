#include "components/contract/pattern.hpp"

#include <catch2/catch_all.hpp>

using namespace runner;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("patterns match whole names") {
  CHECK(matches("fc.weight", "fc.weight"));
  CHECK_FALSE(matches("fc", "fc.weight"));
  CHECK(matches("layer1.*", "layer1.0.conv1.weight"));
  CHECK(matches("*.bias", "layer1.0.conv1.bias"));
  CHECK(matches("*", ""));
  CHECK(matches("layer?.0.*.weight", "layer2.0.bn1.weight"));
  CHECK_FALSE(matches("layer?", "layer"));
  CHECK_FALSE(matches("layer?", "layer12"));
  CHECK(matches("*a*b", "xaxbxb"));
  CHECK_FALSE(matches("*a*b", "xaxbx"));
  CHECK_FALSE(matches("", "a"));
  CHECK(matches("", ""));
}

TEST_CASE("a pattern of many stars takes no exponential time") {
  const std::string name(2000, 'a');
  std::string pattern;
  for (int i = 0; i < 500; ++i) pattern += "*a";
  CHECK_FALSE(matches(pattern + "b", name));
  CHECK(matches(pattern, name));
}

TEST_CASE("a pattern selects a parameter by its module, too") {
  CHECK(selects("fc", "fc.weight"));
  CHECK(selects("layer1.0", "layer1.0.conv1.weight"));
  CHECK(selects("layer?.*.bn2", "layer3.1.bn2.bias"));
  CHECK_FALSE(selects("fc", "fc1.weight"));
  CHECK_FALSE(selects("layer1", "layer10.weight"));
}

TEST_CASE("for a pattern that selects nothing, the nearest name is suggested") {
  const std::vector<std::string> names{"conv1.weight", "layer1.0.conv1.weight", "fc.weight", "fc.bias"};
  CHECK_THAT(nothing_selected("model.freeze", "layr1", names),
             ContainsSubstring("\"layr1\" matches nothing") && ContainsSubstring("did you mean \"layer1\"?"));
  CHECK_THAT(nothing_selected("model.freeze", "zzzzzzzzz", names), ContainsSubstring("conv1.weight"));
}
