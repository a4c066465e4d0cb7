#include "components/layers/tanh_gelu.hpp"

#include <ATen/TensorIterator.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/gelu_backward.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <bit>

namespace runner {

namespace {

// 0.5 x (1 + tanh(u)) is x sigmoid(2 u), and an exponential is much cheaper than a tanh. The functions below
// have neither branches nor calls, so that the compiler turns the loops around them into vector instructions.
constexpr float cubic = 0.044715F, twice_root = 1.5957691216057308F;  // 2 sqrt(2 / pi)

[[gnu::always_inline]] inline float exponential(float x) {
  constexpr float log2_e = 1.44269504F, ln2_high = 0.693359375F, ln2_low = -2.12194440e-4F;
  constexpr float round_to_integer = 12582912.0F;  // 1.5 x 2^23: adding it rounds to an integer
  const float exponent = std::min(std::max(x * log2_e, -126.0F), 128.0F);
  const float shifted = exponent + round_to_integer, whole = shifted - round_to_integer;
  const float rest = std::min(std::max(x - whole * ln2_high - whole * ln2_low, -0.35F), 0.35F);
  float series = 1.9875691500e-4F;
  series = series * rest + 1.3981999507e-3F;
  series = series * rest + 8.3334519073e-3F;
  series = series * rest + 4.1665795894e-2F;
  series = series * rest + 1.6666665459e-1F;
  series = series * rest + 5.0000001201e-1F;
  series = series * rest * rest + rest + 1.0F;
  const auto power = (std::bit_cast<std::uint32_t>(shifted) + 127U) << 23U;  // 2 to the whole; 2^128 is inf
  return series * std::bit_cast<float>(power);
}

// e^(-2 u); the sigmoid is 1 / (1 + decay).
[[gnu::always_inline]] inline float decay(float x) {
  return exponential(-twice_root * (x + cubic * x * x * x));
}

[[gnu::always_inline]] inline void forward_loop(const float* __restrict x, float* __restrict y,
                                                std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) y[i] = x[i] / (1.0F + decay(x[i]));
}

[[gnu::always_inline]] inline void backward_loop(const float* __restrict gradient, const float* __restrict x,
                                                 float* __restrict result, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float fading = decay(x[i]), part = 1.0F / (1.0F + fading);
    const float remainder = part > 0.5F ? fading * part : 1.0F - part;  // whichever is more accurate
    const float slope = twice_root * (1.0F + 3.0F * cubic * x[i] * x[i]);
    result[i] = gradient[i] * (part + x[i] * part * remainder * slope);
  }
}

#ifdef __x86_64__
[[gnu::target("avx2,fma")]] void forward_avx2(const float* x, float* y, std::int64_t count) {
  forward_loop(x, y, count);
}
[[gnu::target("avx2,fma")]] void backward_avx2(const float* gradient, const float* x, float* result,
                                               std::int64_t count) {
  backward_loop(gradient, x, result, count);
}
const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif

void forward(const float* x, float* y, std::int64_t count) {
#ifdef __x86_64__
  if (has_avx2) return forward_avx2(x, y, count);
#endif
  forward_loop(x, y, count);
}

void backward(const float* gradient, const float* x, float* result, std::int64_t count) {
#ifdef __x86_64__
  if (has_avx2) return backward_avx2(gradient, x, result, count);
#endif
  backward_loop(gradient, x, result, count);
}

// Calls the kernel with rows of floats, on all threads; tensor 0 is the output.
template <class Kernel>
torch::Tensor for_rows(at::TensorIterator iterator, const Kernel& kernel) {
  iterator.for_each([&](char** data, const std::int64_t* strides, std::int64_t count) {
    const bool dense = std::all_of(strides, strides + iterator.ntensors(),
                                   [](std::int64_t stride) { return stride == sizeof(float); });
    const std::int64_t at_once = dense ? count : 1;
    for (std::int64_t i = 0; i < count; i += at_once) {
      const auto at = [&](int tensor) {
        return reinterpret_cast<float*>(data[tensor] + i * strides[tensor]);
      };
      kernel(at, at_once);
    }
  });
  return iterator.output();
}

class TanhGelu : public torch::autograd::Function<TanhGelu> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& x) {
    context->save_for_backward({x});
    torch::Tensor y;
    return for_rows(at::TensorIterator::unary_op(y, x),
                    [](const auto& at, std::int64_t count) { runner::forward(at(1), at(0), count); });
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    const torch::Tensor x = context->get_saved_variables()[0];
    // Differentiating the gradient again (create_graph) needs an operator that autograd knows.
    if (at::GradMode::is_enabled()) return {at::gelu_backward(gradients[0], x, "tanh")};
    torch::Tensor result;
    return {
        for_rows(at::TensorIterator::binary_op(result, gradients[0], x),
                 [](const auto& at, std::int64_t count) { runner::backward(at(1), at(2), at(0), count); })};
  }
};

}  // namespace

torch::Tensor tanh_gelu(const torch::Tensor& x) {
  if (!x.device().is_cpu() || x.scalar_type() != torch::kFloat32) return at::gelu(x, "tanh");
  return TanhGelu::apply(x);
}

}  // namespace runner
