#include "components/precisions/fp8_linear.hpp"

#include <ATen/ops/_scaled_mm.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

namespace runner {

namespace {

// A dispatch key that LibTorch does not use itself, above autocast and autograd: while a scope includes it,
// the three operators that linear layers use are intercepted here.
constexpr c10::DispatchKey interception = c10::DispatchKey::TESTING_ONLY_GenericWrapper;

thread_local const Fp8Layers* active_layers = nullptr;

constexpr std::int64_t alignment = 16;  // of every dimension that _scaled_mm sums over

torch::Tensor columns_first(const torch::Tensor& matrix) { return matrix.t().contiguous().t(); }

torch::Tensor product(const torch::Tensor& rows, const torch::Tensor& rows_scale,
                      const torch::Tensor& columns, const torch::Tensor& columns_scale, torch::Dtype result,
                      bool fast) {
  return at::_scaled_mm(rows, columns, rows_scale, columns_scale, {}, {}, result, fast);
}

struct Fp8Product : torch::autograd::Function<Fp8Product> {
  // input [rows, in], weight [out, in]; rows, in and out are multiples of the alignment.
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& input,
                               const torch::Tensor& weight, const c10::intrusive_ptr<Fp8Layer>& layer,
                               bool training) {
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    const auto [x, x_scale] = layer->input_history.quantize(input, torch::kFloat8_e4m3fn, training);
    const auto [w, w_scale] = layer->weight_history.quantize(weight, torch::kFloat8_e4m3fn, training);
    context->save_for_backward({x, x_scale, w, w_scale});
    context->saved_data["layer"] = c10::IValue::make_capsule(layer);
    context->saved_data["input_type"] = input.scalar_type();
    return product(x, x_scale, w.t(), w_scale, torch::kBFloat16, /*fast=*/true);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    const auto saved = context->get_saved_variables();
    const torch::Tensor &x = saved[0], &x_scale = saved[1], &w = saved[2], &w_scale = saved[3];
    const auto layer = c10::static_intrusive_pointer_cast<Fp8Layer>(context->saved_data["layer"].toCapsule());
    const auto [g, g_scale] =
        layer->gradient_history.quantize(gradients[0].contiguous(), torch::kFloat8_e5m2, /*remember=*/true);
    torch::Tensor input_gradient, weight_gradient;
    if (context->needs_input_grad(0)) {
      const auto type = context->saved_data["input_type"].toScalarType();
      input_gradient =
          product(g, g_scale, columns_first(w), w_scale, torch::kBFloat16, /*fast=*/false).to(type);
    }
    if (context->needs_input_grad(1)) {
      weight_gradient =
          product(g.t().contiguous(), g_scale, columns_first(x), x_scale, torch::kFloat32, /*fast=*/false)
              .to(layer->weight.scalar_type());
    }
    return {input_gradient, weight_gradient, {}, {}};
  }
};

struct FoundLayer {
  c10::intrusive_ptr<Fp8Layer> layer = {};
  torch::Tensor weight = {};  // [out, in]

  explicit operator bool() const { return static_cast<bool>(layer); }
};

torch::Tensor linear_in_fp8(const torch::Tensor& input, const FoundLayer& found, const torch::Tensor& bias) {
  const auto& [layer, weight] = found;
  std::vector<std::int64_t> shape = input.sizes().vec();
  shape.back() = weight.size(0);
  torch::Tensor rows = input.reshape({-1, input.size(-1)});
  const std::int64_t count = rows.size(0);
  const std::int64_t missing = (alignment - count % alignment) % alignment;
  if (missing > 0) rows = torch::constant_pad_nd(rows, {0, 0, 0, missing});
  torch::Tensor output = Fp8Product::apply(rows, weight, layer, at::GradMode::is_enabled());
  if (missing > 0) output = output.narrow(0, 0, count);
  output = output.reshape(shape);
  return bias.defined() ? output + bias.to(output.scalar_type()) : output;
}

bool same(const torch::Tensor& a, const torch::Tensor& b) {
  return a.sizes() == b.sizes() && a.strides() == b.strides();
}

// The layer that has this matrix, [out, in] or, transposed, [in, out], as its weight. Most layers store it as
// [out, in]; if it is stored as [in, out], as in GPT-2, it is transposed for the 8-bit product.
FoundLayer find_layer(const torch::Tensor& matrix, bool transposed) {
  if (!active_layers || matrix.dim() != 2) return {};
  for (const auto& layer : *active_layers) {
    // Not compared by address: weights that are not in memory at the moment have none.
    const auto* const memory = layer->weight.storage().unsafeGetStorageImpl();
    if (memory != matrix.storage().unsafeGetStorageImpl() ||
        layer->weight.storage_offset() != matrix.storage_offset())
      continue;
    if (same(transposed ? layer->weight.detach().t() : layer->weight, matrix)) return {layer, layer->weight};
    if (transposed && same(layer->weight, matrix)) return {layer, layer->weight.t().contiguous()};
  }
  return {};
}

torch::Tensor linear(const torch::Tensor& input, const torch::Tensor& weight,
                     const std::optional<torch::Tensor>& bias) {
  const c10::impl::ExcludeDispatchKeyGuard once(interception);
  if (const auto layer = find_layer(weight, false))
    return linear_in_fp8(input, layer, bias.value_or(torch::Tensor{}));
  return at::linear(input, weight, bias);
}

torch::Tensor addmm(const torch::Tensor& bias, const torch::Tensor& input, const torch::Tensor& weight,
                    const at::Scalar& beta, const at::Scalar& alpha) {
  const c10::impl::ExcludeDispatchKeyGuard once(interception);
  if (beta.equal(1) && alpha.equal(1)) {
    if (const auto layer = find_layer(weight, true)) return linear_in_fp8(input, layer, bias);
  }
  return at::addmm(bias, input, weight, beta, alpha);
}

torch::Tensor matmul(const torch::Tensor& input, const torch::Tensor& weight) {
  const c10::impl::ExcludeDispatchKeyGuard once(interception);
  if (const auto layer = find_layer(weight, true)) return linear_in_fp8(input, layer, {});
  return at::matmul(input, weight);
}

}  // namespace

const Fp8Layers* active_fp8_layers() { return active_layers; }

Fp8Scope::Fp8Scope(torch::DeviceType device, const Fp8Layers& layers)
    : AutocastScope(device, torch::kBFloat16), before_(active_layers), intercept_(interception) {
  active_layers = &layers;
}

Fp8Scope::~Fp8Scope() { active_layers = before_; }

}  // namespace runner

TORCH_LIBRARY_IMPL(_, TESTING_ONLY_GenericWrapper, library) {
  library.fallback(torch::CppFunction::makeFallthrough());
}

TORCH_LIBRARY_IMPL(aten, TESTING_ONLY_GenericWrapper, library) {
  library.impl("linear", &runner::linear);
  library.impl("addmm", &runner::addmm);
  library.impl("matmul", &runner::matmul);
}
