#include "components/precisions/autocast.hpp"
#include "components/precisions/precision.hpp"

namespace runner {
namespace {

struct Bf16 {};

constexpr auto describe(std::type_identity<Bf16>) { return fields(); }

class Bf16Precision final : public Precision {
 public:
  explicit Bf16Precision(torch::DeviceType device) : device_(device) {}

  std::unique_ptr<Scope> forward() override {
    return std::make_unique<AutocastScope>(device_, torch::kBFloat16);
  }
  torch::ScalarType compute_type() const override { return torch::kBFloat16; }
  std::string summary() const override { return "bf16 (autocast; weights and optimizer in fp32)"; }

 private:
  torch::DeviceType device_;
};

PrecisionFacts facts(const Bf16&) { return {torch::kBFloat16}; }

std::unique_ptr<Precision> build(const Bf16&, const PrecisionInputs& inputs) {
  return std::make_unique<Bf16Precision>(inputs.device.type());
}

const Registration<PrecisionKind> registration{
    "bf16", "bfloat16 autocast: matrix operators in bfloat16, the rest and the weights in fp32.", &build};

}  // namespace
}  // namespace runner
