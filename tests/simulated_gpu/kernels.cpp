// Operators that CUDA carries out in another way than the CPU: here with the CPU's arithmetic, so that a run
// has the bits of one on the CPU (the cells of an LSTM excepted: the CPU computes them in another order).
#include <ATen/ATen.h>
#include <ATen/native/DispatchStub.h>
#include <ATen/native/transformers/attention.h>
#include <torch/library.h>

#include "generators.hpp"
#include "operators.hpp"
#include "tensors.hpp"

namespace simulated_gpu {

namespace {

using at::Tensor;
using Maybe = std::optional<Tensor>;
using Scale = std::optional<double>;

// ---- attention: CUDA has one kernel without a mask ("flash") and one with ("efficient"), the CPU one for
// both --------

std::int64_t choose_attention(const Tensor& query, const Tensor& key, const Tensor& value, const Maybe& mask,
                              double dropout, bool is_causal, Scale scale, bool gqa) {
  const auto choice = static_cast<at::SDPBackend>(
      at::_fused_sdp_choice(host_view(query), host_view(key), host_view(value),
                            mask ? Maybe(host_view(*mask)) : mask, dropout, is_causal, scale, gqa));
  if (choice != at::SDPBackend::flash_attention) return static_cast<std::int64_t>(at::SDPBackend::math);
  return static_cast<std::int64_t>(mask && mask->defined() ? at::SDPBackend::efficient_attention
                                                           : at::SDPBackend::flash_attention);
}

Tensor no_state(const Tensor& like) { return at::empty({2}, like.options().dtype(at::kLong)); }

std::tuple<Tensor, Tensor, Tensor, Tensor, c10::SymInt, c10::SymInt, Tensor, Tensor, Tensor> flash(
    const Tensor& query, const Tensor& key, const Tensor& value, double dropout, bool is_causal, bool,
    Scale scale) {
  auto [output, sums] =
      at::_scaled_dot_product_flash_attention_for_cpu(query, key, value, dropout, is_causal, {}, scale);
  return {output,          sums,    Tensor(), Tensor(), query.sym_size(2), key.sym_size(2), no_state(query),
          no_state(query), Tensor()};
}

std::tuple<Tensor, Tensor, Tensor> flash_backward(const Tensor& gradient, const Tensor& query,
                                                  const Tensor& key, const Tensor& value,
                                                  const Tensor& output, const Tensor& sums, const Tensor&,
                                                  const Tensor&, c10::SymInt, c10::SymInt, double dropout,
                                                  bool is_causal, const Tensor&, const Tensor&, Scale scale) {
  return at::_scaled_dot_product_flash_attention_for_cpu_backward(gradient, query, key, value, output, sums,
                                                                  dropout, is_causal, {}, scale);
}

std::tuple<Tensor, Tensor, Tensor, Tensor> efficient(const Tensor& query, const Tensor& key,
                                                     const Tensor& value, const Maybe& mask, bool,
                                                     double dropout, bool is_causal, Scale scale) {
  auto [output, sums] =
      at::_scaled_dot_product_flash_attention_for_cpu(query, key, value, dropout, is_causal, mask, scale);
  return {output, sums, no_state(query), no_state(query)};
}

std::tuple<Tensor, Tensor, Tensor, Tensor> efficient_backward(
    const Tensor& gradient, const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
    const Tensor& output, const Tensor& sums, const Tensor&, const Tensor&, double dropout,
    std::array<bool, 4>, bool is_causal, Scale scale) {
  auto [of_query, of_key, of_value] = at::_scaled_dot_product_flash_attention_for_cpu_backward(
      gradient, query, key, value, output, sums, dropout, is_causal, mask, scale);
  return {of_query, of_key, of_value, Tensor()};
}

[[maybe_unused]] const bool chosen =
    (at::native::_fused_sdp_choice_stub.set_cuda_dispatch_ptr(&choose_attention), true);

// ---- dropout
// -------------------------------------------------------------------------------------------------------

std::tuple<Tensor, Tensor> dropout(const Tensor& input, double p, std::optional<bool> train) {
  if (!train.value_or(true)) return {input.clone(), at::ones_like(input, input.options().dtype(at::kBool))};
  Tensor noise = at::empty_like(input).bernoulli_(1 - p);
  const Tensor mask = noise.to(at::kBool);
  return {input.mul(noise.div_(1 - p)), mask};
}

Tensor dropout_backward(const Tensor& gradient, const Tensor& mask, double scale) {
  return gradient.mul(mask.to(gradient.scalar_type()).div_(1 / scale));
}

// ---- LSTM: the gates are input, forget, cell, output
// -----------------------------------------------------------------

std::tuple<Tensor, Tensor, Tensor> lstm_cell(const Tensor& from_input, const Tensor& from_hidden,
                                             const Tensor& cell, const Maybe& input_bias,
                                             const Maybe& hidden_bias) {
  Tensor gates = from_input + from_hidden;
  if (input_bias && input_bias->defined()) gates = gates + *input_bias + *hidden_bias;
  const auto parts = gates.chunk(4, 1);
  const Tensor in = parts[0].sigmoid(), forget = parts[1].sigmoid(), fresh = parts[2].tanh(),
               out = parts[3].sigmoid();
  const Tensor next = forget * cell + in * fresh;
  return {out * next.tanh(), next, at::cat({in, forget, fresh, out}, 1)};
}

std::tuple<Tensor, Tensor, Tensor> lstm_cell_backward(const Maybe& of_hidden, const Maybe& of_cell,
                                                      const Tensor& cell, const Tensor& next,
                                                      const Tensor& workspace, bool has_bias) {
  const auto parts = workspace.chunk(4, 1);
  const Tensor &in = parts[0], &forget = parts[1], &fresh = parts[2], &out = parts[3];
  const Tensor squashed = next.tanh();
  const Tensor hidden = of_hidden && of_hidden->defined() ? *of_hidden : at::zeros_like(next);
  Tensor total = hidden * out * (1 - squashed * squashed);
  if (of_cell && of_cell->defined()) total = total + *of_cell;
  const Tensor gates = at::cat({total * fresh * in * (1 - in), total * cell * forget * (1 - forget),
                                total * in * (1 - fresh * fresh), hidden * squashed * out * (1 - out)},
                               1);
  return {gates, total * forget, has_bias ? gates.sum(0) : Tensor()};
}

TORCH_LIBRARY_IMPL(aten, CUDA, library) {
  // In a CUDA build composites of several operators, or kernels that only the CPU has.
  for (const char* const name :
       {"convolution", "convolution_backward", "_scaled_dot_product_flash_attention_for_cpu",
        "_scaled_dot_product_flash_attention_for_cpu_backward"})
    library.impl(name, torch::CppFunction::makeFromBoxedFunction<&run_operator>());
  library.impl("_scaled_dot_product_flash_attention", &flash);
  library.impl("_scaled_dot_product_flash_attention_backward", &flash_backward);
  library.impl("_scaled_dot_product_efficient_attention", &efficient);
  library.impl("_scaled_dot_product_efficient_attention_backward", &efficient_backward);
  library.impl("native_dropout", &dropout);
  library.impl("native_dropout_backward", &dropout_backward);
  library.impl("_thnn_fused_lstm_cell", &lstm_cell);
  library.impl("_thnn_fused_lstm_cell_backward_impl", &lstm_cell_backward);
}

}  // namespace

}  // namespace simulated_gpu
