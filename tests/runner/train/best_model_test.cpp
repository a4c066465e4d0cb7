#include "runner/train/best_model.hpp"

#include <catch2/catch_all.hpp>
#include <limits>

using namespace runner;

TEST_CASE("the best model follows its rule, and a tie stays with the earlier one") {
  BestModel best({"eval/loss", Better::min});
  const auto improved = [&](double loss) {
    return best.improved({}, {{"eval/accuracy", 1}, {"eval/loss", loss}});
  };
  CHECK(improved(2.0));
  CHECK_FALSE(improved(2.0));
  CHECK_FALSE(improved(3.0));
  CHECK(improved(1.5));
  CHECK(best.value() == 1.5);
}

TEST_CASE("a measurement that is not a number is never the best") {
  BestModel best({"eval/accuracy", Better::max});
  CHECK_FALSE(best.improved({}, {{"eval/accuracy", std::numeric_limits<double>::quiet_NaN()}}));
  CHECK_FALSE(best.value());
  CHECK(best.improved({}, {{"eval/accuracy", 0.0}}));
}
