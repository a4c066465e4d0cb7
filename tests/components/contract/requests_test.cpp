#include <catch2/catch_all.hpp>

#include "components/contract/requests.hpp"

namespace runner {
namespace {

TEST_CASE("of several wishes to stop the first reason counts; of several values of a name the last") {
  Requests requests;
  requests.stop("first");
  requests.stop("second");
  CHECK(requests.stop_reason() == "first");
  requests.log("a", 1);
  requests.log("b", 2);
  requests.log("a", 3);
  CHECK(requests.take_measurements() == Measurements{{"a", 3}, {"b", 2}});
  CHECK(requests.take_measurements().empty());
}

TEST_CASE("requests that wait are saved and come back") {
  Requests requests;
  requests.log("b", 2);
  requests.log("a", 1);
  requests.stop("enough");
  requests.learning_rate(0.5);
  requests.skip_update();
  Requests loaded;
  loaded.load(requests.save());
  CHECK(loaded.take_measurements() == Measurements{{"b", 2}, {"a", 1}});
  CHECK(loaded.stop_reason() == "enough");
  CHECK(loaded.take_learning_rate() == 0.5);
  CHECK(loaded.take_skip());

  loaded.load(Requests().save());
  CHECK_FALSE(loaded.stop_reason());
  CHECK_FALSE(loaded.take_learning_rate());
  CHECK_FALSE(loaded.take_skip());
}

TEST_CASE("requests: names of any characters come back") {
  Requests requests;
  for (const char* name : {"b\na", "\\n", "\\", "\n", "a"}) requests.log(name, 1);
  Requests loaded;
  loaded.load(requests.save());
  CHECK(loaded.take_measurements() == requests.take_measurements());
}

TEST_CASE("requests: an interruption is of this process alone, and a stop can be forgotten") {
  Requests requests;
  requests.interrupt("no time left");
  requests.stop("enough");
  CHECK(requests.interrupt_reason() == "no time left");
  Requests loaded;
  loaded.load(requests.save());
  CHECK_FALSE(loaded.interrupt_reason());
  CHECK(loaded.stop_reason() == "enough");
  loaded.forget_stop();
  CHECK_FALSE(loaded.stop_reason());
}

TEST_CASE("requests: names in a saved state that was edited are read as far as they go") {
  State state = Requests().save();
  state.parts["metrics"].texts["names"] = "a";  // no line end
  state.parts["metrics"].numbers["a"] = 1;
  Requests loaded;
  loaded.load(state);
  CHECK(loaded.take_measurements() == Measurements{{"a", 1}});
  state.parts["metrics"].texts["names"] = "a\n\n";
  CHECK_THROWS_AS(loaded.load(state), StateError);
}

}  // namespace
}  // namespace runner
