#include "runner/engine/cast_parameter.hpp"

#include <torch/csrc/autograd/custom_function.h>
#include <torch/types.h>

namespace runner {

namespace {

struct Cast final : torch::autograd::Function<Cast> {
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& uncast,
                               const c10::Storage& cast, torch::ScalarType type) {
    context->saved_data["type"] = uncast.scalar_type();
    return torch::empty({0}, uncast.options().dtype(type).requires_grad(false))
        .set_(cast, uncast.storage_offset(), uncast.sizes(), uncast.strides());
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    return {gradients[0].to(context->saved_data["type"].toScalarType()), {}, {}};
  }
};

}  // namespace

torch::Tensor as_cast_of(const torch::Tensor& uncast, const c10::Storage& cast, torch::ScalarType type) {
  return Cast::apply(uncast, cast, type);
}

}  // namespace runner
