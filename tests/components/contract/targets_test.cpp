#include "components/contract/targets.hpp"

#include <catch2/catch_all.hpp>

namespace runner {
namespace {

bool possible(const DataSpec& data, Targets targets) {
  const auto all = possible_targets(data);
  return std::ranges::find(all, targets) != all.end();
}

TEST_CASE("what targets can mean follows from their shape and type") {
  const DataSpec classes{.classes = 10, .class_names = {"a", "b"}};
  CHECK(possible(classes, Targets::class_index));
  CHECK_FALSE(possible(classes, Targets::numbers));
  const DataSpec mixed{.target_shape = {10}, .target_type = torch::kFloat32, .classes = 10};
  CHECK((possible_targets(mixed) == std::vector{Targets::class_shares, Targets::binary}));
  const DataSpec several{.target_shape = {3}, .target_type = torch::kFloat32};
  CHECK(possible(several, Targets::binary));
  CHECK(possible(several, Targets::numbers));
  const DataSpec number{.target_type = torch::kFloat32};
  CHECK_FALSE(possible(number, Targets::class_index));
  const DataSpec text{.target_shape = {8}, .classes = 50, .vocabulary = 50};
  CHECK((possible_targets(text).front() == Targets::tokens));
}

TEST_CASE("an empty list takes anything, and lists without a common entry take nothing") {
  using List = std::vector<Targets>;
  CHECK((shared_targets({}, {Targets::numbers}) == List{Targets::numbers}));
  CHECK((shared_targets({Targets::numbers}, {}) == List{Targets::numbers}));
  const auto both = shared_targets({Targets::binary, Targets::numbers}, {Targets::numbers, Targets::binary});
  CHECK((both == List{Targets::binary, Targets::numbers}));
  CHECK_FALSE(shared_targets({Targets::class_index}, {Targets::numbers}));
}

}  // namespace
}  // namespace runner
