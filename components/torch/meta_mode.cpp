#include "components/torch/meta_mode.hpp"

#include <ATen/WrapDimUtils.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <stdexcept>

namespace runner {

namespace {

// LibTorch implements these on the meta device only in Python.
torch::Tensor convolution(const torch::Tensor& input, const torch::Tensor& weight,
                          const std::optional<torch::Tensor>&, at::IntArrayRef stride,
                          at::IntArrayRef padding, at::IntArrayRef dilation, bool transposed,
                          at::IntArrayRef output_padding, std::int64_t groups) {
  const auto at = [](at::IntArrayRef values, std::size_t i) { return values[values.size() == 1 ? 0 : i]; };
  std::vector<std::int64_t> shape{input.size(0), transposed ? weight.size(1) * groups : weight.size(0)};
  for (std::size_t i = 0; i + 2 < static_cast<std::size_t>(input.dim()); ++i) {
    const auto dimension = static_cast<std::int64_t>(i) + 2;
    const std::int64_t size = input.size(dimension),
                       reach = at(dilation, i) * (weight.size(dimension) - 1) + 1;
    shape.push_back(transposed
                        ? (size - 1) * at(stride, i) - 2 * at(padding, i) + reach + at(output_padding, i)
                        : (size + 2 * at(padding, i) - reach) / at(stride, i) + 1);
  }
  return torch::empty(shape, input.options());
}

std::tuple<torch::Tensor, torch::Tensor, torch::Tensor> batch_norm(
    const torch::Tensor& input, const std::optional<torch::Tensor>&, const std::optional<torch::Tensor>&,
    const std::optional<torch::Tensor>&, const std::optional<torch::Tensor>&, bool training, double, double) {
  const auto statistics =
      torch::empty({training ? input.size(1) : 0}, input.options().dtype(torch::kFloat32));
  return {torch::empty_like(input), statistics, torch::empty_like(statistics)};
}

torch::Tensor index_select(const torch::Tensor& input, std::int64_t dimension, const torch::Tensor& index) {
  std::vector<std::int64_t> shape = input.sizes().vec();
  if (!shape.empty())
    shape[static_cast<std::size_t>(at::maybe_wrap_dim(dimension, input.dim()))] = index.numel();
  return torch::empty(shape, input.options());
}

torch::Tensor relu(const torch::Tensor& input) { return torch::empty_like(input); }

torch::Tensor hardtanh(const torch::Tensor& input, const at::Scalar&, const at::Scalar&) {
  return torch::empty_like(input);
}

torch::Tensor adaptive_pool(const torch::Tensor& input, at::IntArrayRef size) {
  std::vector<std::int64_t> shape = input.sizes().vec();
  std::ranges::copy(size, shape.end() - 2);
  return torch::empty(shape, input.options());
}

TORCH_LIBRARY_IMPL(aten, Meta, library) {
  library.impl("index_select", &index_select);
  library.impl("relu", &relu);
  library.impl("hardtanh", &hardtanh);
  library.impl("_adaptive_avg_pool2d", &adaptive_pool);
  library.impl("convolution_overrideable", &convolution);
  library.impl("native_batch_norm", &batch_norm);
}

// Saves what the fused kernels save for the backward pass: on the meta device LibTorch would create the whole
// attention matrix, which no real run holds in memory.
struct FusedAttention : torch::autograd::Function<FusedAttention> {
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& query,
                               const torch::Tensor& key, const torch::Tensor& value) {
    std::vector<std::int64_t> shape = query.sizes().vec();
    shape.back() = value.size(-1);
    auto output = torch::empty(shape, query.options());
    shape.pop_back();
    const auto sums = torch::empty(shape, query.options().dtype(torch::kFloat32));
    context->save_for_backward({query, key, value, output, sums});
    return output;
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list&) {
    const auto saved = context->get_saved_variables();
    return {torch::empty_like(saved[0]), torch::empty_like(saved[1]), torch::empty_like(saved[2])};
  }
};

bool without_result(const c10::FunctionSchema& schema) { return schema.returns().empty(); }

}  // namespace

void MetaMode::run(const c10::OperatorHandle& op, torch::jit::Stack& stack) {
  const c10::FunctionSchema& schema = op.schema();
  const std::string& name = schema.name();
  const auto& arguments = schema.arguments();
  const std::size_t first = stack.size() - arguments.size();
  if (name == "aten::scaled_dot_product_attention" && stack[first].toTensor().is_meta()) {
    const auto output = FusedAttention::apply(stack[first].toTensor(), stack[first + 1].toTensor(),
                                              stack[first + 2].toTensor());
    torch::jit::drop(stack, arguments.size());
    torch::jit::push(stack, output);
    return;
  }
  // Fused optimizers only change values in place, and meta tensors have none.
  if (name.starts_with("aten::_fused_") && without_result(schema))
    return torch::jit::drop(stack, arguments.size());

  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].name() != "device") continue;
    stack[first + i] = c10::Device(c10::kMeta);
    if (++made_ > most_) {
      throw std::runtime_error("the model has more than " + std::to_string(most_) +
                               " parameters and buffers, which is more than any machine can train");
    }
  }
  op.callBoxed(&stack);
}

}  // namespace runner
