#include "runner/engine/gradients.hpp"

#include <torch/nn/utils/clip_grad.h>
#include <torch/utils.h>

#include <catch2/catch_all.hpp>

using namespace runner;

TEST_CASE("the total norm and clipping to it equal torch::nn::utils::clip_grad_norm_") {
  torch::manual_seed(1);
  std::vector<torch::Tensor> ours, theirs;
  for (const int size : {3, 50, 7}) {
    const auto gradient = torch::randn({size, 4});
    for (auto* list : {&ours, &theirs}) {
      auto parameter = torch::zeros({size, 4}).requires_grad_();
      parameter.mutable_grad() = gradient.clone();
      list->push_back(parameter);
    }
  }
  const auto gradients = gradients_of(ours);
  const double most = GENERATE(0.5, 1000.0);
  const double their_norm = torch::nn::utils::clip_grad_norm_(theirs, most);
  const auto norm = total_norm(gradients);
  CHECK_THAT(norm.item<double>(), Catch::Matchers::WithinRel(their_norm, 1e-6));
  clip_to_norm(gradients, norm, most);
  for (std::size_t i = 0; i < ours.size(); ++i)
    CHECK(torch::allclose(ours[i].grad(), theirs[i].grad(), 1e-6, 0));
}

TEST_CASE("clipping by value limits every element") {
  auto parameter = torch::zeros({3}).requires_grad_();
  parameter.mutable_grad() = torch::tensor({-5.0F, 0.25F, 7.0F});
  clip_to_value(gradients_of({parameter}), 1.0);
  CHECK(torch::equal(parameter.grad(), torch::tensor({-1.0F, 0.25F, 1.0F})));
}

TEST_CASE("parameters without a gradient are left out") {
  CHECK(gradients_of({torch::zeros({2}).requires_grad_()}).empty());
  CHECK(total_norm({}).item<double>() == 0);
}
