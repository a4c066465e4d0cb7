#include <ATen/ops/cross_entropy_loss.h>

#include <stdexcept>

#include "components/losses/class_targets.hpp"
#include "components/losses/loss.hpp"
#include "registry/base/log.hpp"

namespace runner {
namespace {

struct LmCrossEntropy {
  double label_smoothing = 0.0;
  std::int64_t ignore_index = -100;
};

constexpr auto describe(std::type_identity<LmCrossEntropy>) {
  return fields(field("label_smoothing", &LmCrossEntropy::label_smoothing,
                      "Share of the target spread evenly over the vocabulary.", within(0, 1)),
                field("ignore_index", &LmCrossEntropy::ignore_index,
                      "Targets with this token are ignored: padding, or a prompt."));
}

// Outputs are [examples, positions, vocabulary]; targets are token ids [examples, positions]. Every token has
// the same weight, so a sequence counts by its length.
class LmCrossEntropyLoss final : public Loss {
 public:
  LmCrossEntropyLoss(const LmCrossEntropy& settings, std::int64_t vocabulary)
      : label_smoothing_(settings.label_smoothing),
        tokens_({"lm_cross_entropy", vocabulary, settings.ignore_index}) {}

  torch::Tensor sum(const torch::Tensor& output, const Batch& batch) const override {
    const torch::Tensor& target = batch.target;
    if (output.dim() != 3 || target.sizes() != output.sizes().slice(0, 2)) {
      throw std::runtime_error(
          log::format("lm_cross_entropy needs outputs [examples, positions, "
                      "vocabulary] and a token for each position, "
                      "but the model gives {} and the targets are {}.",
                      output.sizes(), target.sizes()));
    }
    // Flattened, the vocabulary is the last dimension of contiguous memory, for which kernels are fast.
    const torch::Tensor scores = at_least_32_bits(output.flatten(0, 1));
    const torch::Tensor tokens = target.flatten();
    tokens_.require_fitting(scores, tokens, /*shares_allowed=*/false);
    return at::cross_entropy_loss(scores, tokens.to(torch::kInt64), {}, at::Reduction::Sum,
                                  tokens_.ignore_index(), label_smoothing_);
  }

  double weight(const Batch& batch) const override { return tokens_.counted(batch.target); }

 private:
  double label_smoothing_;
  ClassTargets tokens_;
};

LossFacts facts(const LmCrossEntropy& settings) {
  return {.targets = {Targets::tokens}, .ignore_index = settings.ignore_index};
}

std::unique_ptr<Loss> build(const LmCrossEntropy& settings, const LossInputs& inputs) {
  return std::make_unique<LmCrossEntropyLoss>(settings, inputs.data.vocabulary);
}

const Registration<LossKind> registration{
    "lm_cross_entropy",
    "For language models: the negative log of the probability given to each "
    "next token.",
    &build};

}  // namespace
}  // namespace runner
