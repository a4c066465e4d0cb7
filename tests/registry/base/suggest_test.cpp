#include "registry/base/suggest.hpp"

#include <catch2/catch_all.hpp>

namespace runner {

TEST_CASE("suggest: distance counts typing slips", "[suggest]") {
  CHECK(edit_distance("momentum", "momentum") == 0);
  CHECK(edit_distance("momentun", "momentum") == 1);
  CHECK(edit_distance("momenutm", "momentum") == 1);  // neighbours swapped
  CHECK(edit_distance("Momentum", "momentum") == 0);  // case is not a slip
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("kitten", "sitting") == 3);
}

TEST_CASE("suggest: a hint quotes the name, or there is none", "[suggest]") {
  CHECK(did_you_mean("momentun", {"lr", "momentum"}) == "did you mean \"momentum\"?");
  CHECK(did_you_mean("a\x1b", {"a\x1b["}) == "did you mean \"a\\x1b[\"?");
  CHECK(did_you_mean("zebra", {"lr", "momentum"}) == std::nullopt);
}

TEST_CASE("suggest: the name that was probably meant", "[suggest]") {
  const std::vector<std::string> names{"lr", "momentum", "weight_decay", "nesterov", "batch_size"};
  CHECK(nearest("momentun", names) == "momentum");
  CHECK(nearest("nestrov", names) == "nesterov");
  CHECK(nearest("Lr", names) == "lr");
  CHECK(nearest("batchsize", names) == "batch_size");
  CHECK(nearest("decay", names) == "weight_decay");      // part of a name
  CHECK(nearest("my_momentum_2", names) == "momentum");  // the other way round
  CHECK(nearest("zebra", names) == std::nullopt);
  CHECK(nearest("", names) == std::nullopt);
  CHECK(nearest("x", {}) == std::nullopt);
  CHECK(nearest(std::string(10'000, 'm'), names) == std::nullopt);
  CHECK(nearest("momentun", {std::string(5'000'000, 'm'), "momentum"}) == "momentum");
}

}  // namespace runner
