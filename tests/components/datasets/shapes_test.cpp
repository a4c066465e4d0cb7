#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/adam.h>
#include <torch/utils.h>

#include <catch2/catch_all.hpp>

#include "tests/support/datasets.hpp"

using namespace runner;
using namespace runner::testing;

TEST_CASE("shapes is there at once: ten balanced classes of 32x32 colour images") {
  const DataSpec spec = dataset("shapes")->spec();
  CHECK(spec.input_shape == std::vector<std::int64_t>{3, 32, 32});
  CHECK(spec.classes == 10);
  CHECK(spec.class_names.size() == 10);
  const Splits splits = open("shapes", {{"train", 120}, {"eval", 40}});
  CHECK(splits.train->size() == 120);
  CHECK(splits.eval->size() == 40);
  CHECK(splits.stand_in.empty());
  std::vector<std::int64_t> all(120);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int64_t>(i);
  CHECK(torch::equal(torch::bincount(read(*splits.train, all).target), torch::full({10}, 12, torch::kInt64)));
}

TEST_CASE("an image of shapes is a function of the set's seed, the part and the index alone") {
  const Splits first = open("shapes", {}, 1), again = open("shapes", {{"train", 100}}, 2);
  const Splits other = open("shapes", {{"seed", 2}});
  const torch::Tensor image = read(*first.train, {42}).input;
  CHECK(torch::equal(image, read(*again.train, {41, 42}).input.narrow(0, 1, 1)));
  CHECK_FALSE(torch::equal(image, read(*first.eval, {42}).input));
  CHECK_FALSE(torch::equal(image, read(*other.train, {42}).input));
  CHECK_FALSE(torch::equal(image, read(*first.train, {52}).input));
}

TEST_CASE("the constants of shapes are those of its images") {
  const Splits splits = open("shapes");
  std::vector<std::int64_t> some(2000);
  for (std::size_t i = 0; i < some.size(); ++i) some[i] = static_cast<std::int64_t>(i);
  const torch::Tensor images = read(*splits.train, some).input;
  const DataSpec spec = dataset("shapes")->spec();
  for (int channel = 0; channel < 3; ++channel) {
    CHECK(images.select(1, channel).mean().item<double>() == Approx(spec.mean[channel]).margin(0.02));
    CHECK(images.select(1, channel).std().item<double>() == Approx(spec.deviation[channel]).margin(0.01));
  }
}

TEST_CASE("shapes has to be learnt: a small network does, a linear model cannot") {
  torch::manual_seed(1);
  const Splits splits = open("shapes");
  std::vector<std::int64_t> indices(4000);
  for (std::size_t i = 0; i < indices.size(); ++i) indices[i] = static_cast<std::int64_t>(i);
  const Batch train = read(*splits.train, indices),
              eval = read(*splits.eval, {indices.begin(), indices.begin() + 1000});
  const auto accuracy = [&](torch::nn::Sequential model, int epochs) {
    torch::optim::Adam optimizer(model->parameters(), torch::optim::AdamOptions(2e-3));
    for (int step = 0; step < epochs * 4000 / 50; ++step) {
      const torch::Tensor chosen = torch::randint(4000, {50});
      const auto input = (train.input.index_select(0, chosen) - 0.5) / 0.29;
      optimizer.zero_grad();
      torch::cross_entropy_loss(model->forward(input), train.target.index_select(0, chosen)).backward();
      optimizer.step();
    }
    const torch::NoGradGuard no_gradients;
    const auto right = model->forward((eval.input - 0.5) / 0.29).argmax(1) == eval.target;
    return right.to(torch::kFloat32).mean().item<double>();
  };
  using namespace torch::nn;
  const auto convolution = [](int in, int out) {
    return Conv2d(Conv2dOptions(in, out, 3).padding(1).stride(2));
  };
  const double linear = accuracy(Sequential(Flatten(), Linear(3072, 10)), 1);
  const double network = accuracy(Sequential(convolution(3, 16), ReLU(), convolution(16, 32), ReLU(),
                                             convolution(32, 64), ReLU(), Flatten(), Linear(1024, 10)),
                                  4);
  CHECK(linear < 0.2);
  CHECK(network > 0.3);
}
