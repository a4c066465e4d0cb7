#include "runner/train/training_loss.hpp"

#include <torch/utils.h>

#include <catch2/catch_all.hpp>

using namespace runner;

namespace {

WindowLoss loss(double sum, double weight) { return {torch::tensor(static_cast<float>(sum)), weight}; }

}  // namespace

TEST_CASE("training_loss: every update counts once, whatever its weight") {
  TrainingLoss mean;
  mean.add(loss(6, 2));
  mean.add(loss(5, 5));
  CHECK(mean.take() == 2);
  mean.add(loss(8, 1));
  CHECK(mean.take() == 8);  // of what came since
}

TEST_CASE("training_loss: many updates keep the digits that a sum in fp32 would lose") {
  TrainingLoss mean;
  for (int i = 0; i < 1000; ++i) mean.add(loss(16777216.0 + 2 * (i % 2), 1));
  CHECK(mean.take() == 16777217.0);
}
