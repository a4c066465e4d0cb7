#include "components/contract/state.hpp"

#include <catch2/catch_all.hpp>

using namespace runner;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("a state is read strictly: what is missing and what is left over are errors that name it") {
  const State state{.integers = {{"count", 3}}, .numbers = {{"best", 0.5}}, .texts = {{"name", "a"}}};
  StateReader reader(state);
  CHECK(reader.integer("count") == 3);
  CHECK_THROWS_WITH(reader.integer("best"), ContainsSubstring("\"best\""));  // it is a number
  CHECK_THROWS_WITH(reader.finish(), ContainsSubstring("\"best\""));
  CHECK(reader.number("best") == 0.5);
  CHECK_THROWS_WITH(reader.finish(), ContainsSubstring("\"name\""));
  CHECK(*reader.find_text("name") == "a");
  CHECK_FALSE(reader.find_text("other"));
  CHECK_NOTHROW(reader.finish());
}

TEST_CASE("entries of one name and two types are two entries") {
  const State state{.integers = {{"x", 1}}, .numbers = {{"x", 2.5}}};
  StateReader reader(state);
  CHECK(reader.integer("x") == 1);
  CHECK_THROWS_AS(reader.finish(), StateError);
}

TEST_CASE("a tensor of another shape is refused") {
  const State state{.tensors = {{"weight", torch::zeros({2, 3})}}};
  StateReader reader(state);
  CHECK_THROWS_WITH(reader.tensor_into("weight", torch::zeros({3, 2})), ContainsSubstring("\"weight\""));
}

TEST_CASE("a copy of a state shares no memory with it") {
  const State state{.parts = {{"inner", State{.tensors = {{"weight", torch::zeros({2})}}}}}};
  const State copy = state.copy();
  state.parts.at("inner").tensors.at("weight").fill_(1);
  CHECK(copy.parts.at("inner").tensors.at("weight").sum().item<double>() == 0);
}
