#include <catch2/catch_all.hpp>

#include "components/hooks/hook.hpp"

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

}  // namespace
}  // namespace runner
