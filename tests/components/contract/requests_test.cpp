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

}  // namespace
}  // namespace runner
