#pragma once

#include <functional>
#include <string>

#include "components/losses/loss.hpp"

namespace runner {

enum class ComparedWith { target, input };
constexpr auto describe(std::type_identity<ComparedWith>) {
  return choices(choice("target", ComparedWith::target, "the dataset's targets"),
                 choice("input", ComparedWith::input, "the input itself: an autoencoder"));
}

// If outputs are compared with the input, the targets are not used.
inline LossFacts elementwise_facts(ComparedWith with) {
  if (with == ComparedWith::input) return {};
  return {{Targets::numbers, Targets::class_shares}};
}

// A loss that compares each number of the outputs with one of the targets; the mean is over all numbers.
class ElementwiseLoss final : public Loss {
 public:
  using Sum = std::function<torch::Tensor(const torch::Tensor& output, const torch::Tensor& target)>;

  ElementwiseLoss(std::string name, Sum sum, ComparedWith with = ComparedWith::target)
      : name_(std::move(name)), sum_(std::move(sum)), with_(with) {}

  torch::Tensor sum(const torch::Tensor& output, const Batch& batch) const override;
  double weight(const Batch& batch) const override { return static_cast<double>(compared(batch).numel()); }

 private:
  const torch::Tensor& compared(const Batch& batch) const {
    return with_ == ComparedWith::input ? batch.input : batch.target;
  }

  std::string name_;
  Sum sum_;
  ComparedWith with_;
};

}  // namespace runner
