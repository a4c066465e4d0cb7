#include "components/torch/finite.hpp"

#include <catch2/catch_all.hpp>
#include <limits>

namespace runner {

TEST_CASE("which tensors are finite is found for all of them together", "[torch]") {
  const torch::Tensor good = torch::ones({3}), whole = torch::ones({2}, torch::kInt64);
  torch::Tensor bad = torch::ones({2, 2}, torch::kFloat64);
  bad[1][0] = std::numeric_limits<double>::infinity();
  const torch::Tensor nan = torch::full({}, std::numeric_limits<float>::quiet_NaN());
  CHECK(each_finite({good, bad, whole, {}, nan, torch::empty({0})}) ==
        std::vector<bool>{true, false, true, true, false, true});
  CHECK(all_finite({good, whole}));
  CHECK(!all_finite({good, nan}));
  CHECK(all_finite({}));
}

}  // namespace runner
