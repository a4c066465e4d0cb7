#include <ATen/Context.h>

#include "components/precisions/precision.hpp"
#include "registry/base/log.hpp"

namespace runner {
namespace {

enum class MatmulPrecision { highest, high, medium };
constexpr auto describe(std::type_identity<MatmulPrecision>) {
  return choices(choice("highest", MatmulPrecision::highest, "full 32-bit products"),
                 choice("high", MatmulPrecision::high, "TensorFloat-32: 10 bits of mantissa"),
                 choice("medium", MatmulPrecision::medium, "bfloat16 inside: 7 bits of mantissa"));
}

struct Fp32 {
  MatmulPrecision matmul_precision = MatmulPrecision::highest;
  std::optional<bool> tf32;
};
constexpr auto describe(std::type_identity<Fp32>) {
  return fields(
      field("matmul_precision", &Fp32::matmul_precision, "Precision of 32-bit matrix products."),
      field("tf32", &Fp32::tf32, "TensorFloat-32 in CUDA convolutions; default: LibTorch's own choice."));
}

class Fp32Precision final : public Precision {
 public:
  Fp32Precision(const Fp32& settings, const torch::Device& device) {
    const std::string matmul = *Codec<MatmulPrecision>::encode(settings.matmul_precision).as<std::string>();
    at::globalContext().setFloat32MatmulPrecision(matmul);
    if (settings.matmul_precision != MatmulPrecision::highest) {
      summary_ += ", matrix products in " + matmul + " precision";
      if (device.is_cpu()) summary_ += " where the CPU has instructions for it";
    }
    if (!settings.tf32) return;
    if (device.is_cpu()) {
      log::warning("precision.tf32 has no effect on the CPU: it is for CUDA devices.");
      return;
    }
    at::globalContext().setAllowTF32CuDNN(*settings.tf32);
    summary_ += *settings.tf32 ? ", TF32 convolutions" : ", no TF32 convolutions";
  }

  std::string summary() const override { return summary_; }

 private:
  std::string summary_ = "fp32";
};

std::unique_ptr<Precision> build(const Fp32& settings, const PrecisionInputs& inputs) {
  return std::make_unique<Fp32Precision>(settings, inputs.device);
}

const Registration<PrecisionKind> registration{"fp32", "32-bit floating point throughout.", &build};

}  // namespace
}  // namespace runner
