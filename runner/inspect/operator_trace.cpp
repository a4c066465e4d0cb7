#include "runner/inspect/operator_trace.hpp"

#include <ATen/record_function.h>
#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>

namespace runner {

namespace {

thread_local OperatorTrace* active = nullptr;

using Values = c10::ArrayRef<const c10::IValue>;

const torch::Tensor* tensor_at(Values values, std::size_t index) {
  return index < values.size() && values[index].isTensor() && values[index].toTensor().defined() &&
                 values[index].toTensor().dim() > 0
             ? &values[index].toTensor()
             : nullptr;
}

double size_of(const torch::Tensor& tensor, std::int64_t dimension) {
  return static_cast<double>(tensor.size(dimension));
}

// The floating-point operations of one call: known from its inputs, or per element of its output.
struct Arithmetic : at::ObserverContext {
  double in_all = 0;
  double per_output = 0;
};

// Only operators that do the work themselves are counted, not those that call one of these.
std::unique_ptr<Arithmetic> arithmetic_of(std::string_view name, Values inputs) {
  auto found = std::make_unique<Arithmetic>();
  const auto product = [&](std::size_t left, std::size_t right) {
    const auto *a = tensor_at(inputs, left), *b = tensor_at(inputs, right);
    return a && b ? 2.0 * static_cast<double>(a->numel()) * size_of(*b, -1) : 0.0;
  };
  if (name == "aten::mm" || name == "aten::bmm") found->in_all = product(0, 1);
  if (name == "aten::addmm" || name == "aten::baddbmm") found->in_all = product(1, 2);
  if (name == "aten::convolution") {
    const auto* weight = tensor_at(inputs, 1);
    // The weight is [out, in / groups, ..] and used once per output; transposed, it is [in, out / groups, ..]
    // and used once per input.
    const double each = weight ? 2.0 * static_cast<double>(weight->numel()) / size_of(*weight, 0) : 0.0;
    const auto* input = tensor_at(inputs, 0);
    constexpr std::size_t transposed = 6;
    if (input && inputs.size() > transposed && inputs[transposed].toBool())
      found->in_all = each * static_cast<double>(input->numel());
    else
      found->per_output = each;
  }
  // One layer of an LSTM in one direction, which oneDNN computes as a whole on a CPU.
  if (name == "aten::mkldnn_rnn_layer") {
    const auto *input = tensor_at(inputs, 0), *of_input = tensor_at(inputs, 1),
               *of_state = tensor_at(inputs, 2);
    if (input && of_input && of_state)
      found->in_all = 2.0 * size_of(*input, 0) * size_of(*input, 1) *
                      static_cast<double>(of_input->numel() + of_state->numel());
  }
  const bool fused = name.starts_with("aten::_scaled_dot_product");
  if (fused || name == "aten::scaled_dot_product_attention") {
    const auto *query = tensor_at(inputs, 0), *key = tensor_at(inputs, 1);
    // On the meta device there is no fused operator that would be counted instead.
    if (query && key && (fused || query->is_meta()))
      found->in_all = 4.0 * static_cast<double>(query->numel()) * size_of(*key, -2);
  }
  return found;
}

}  // namespace

struct OperatorTrace::Listener {
  static std::unique_ptr<at::ObserverContext> started(const at::RecordFunction& function) {
    for (const c10::IValue& input : function.inputs()) {
      if (!active || !input.isTensor() || !input.toTensor().defined()) continue;
      const auto layer = active->layer_of_parameter_.find(input.toTensor().unsafeGetTensorImpl());
      if (layer != active->layer_of_parameter_.end()) active->last_layer_ = layer->second;
    }
    return arithmetic_of(function.name(), function.inputs());  // the inputs are gone when it ends
  }
  static void ended(const at::RecordFunction& function, at::ObserverContext* context) {
    const auto& arithmetic = *static_cast<const Arithmetic*>(context);
    if (!active) return;
    active->flops_ += arithmetic.in_all;
    const auto* output = tensor_at(Values(function.outputs().data(), function.outputs().size()), 0);
    if (output) active->flops_ += arithmetic.per_output * static_cast<double>(output->numel());
    for (const c10::IValue& each : function.outputs()) {
      if (each.isTensor()) active->note_storage(each.toTensor());
      if (!each.isTensorList()) continue;
      for (const torch::Tensor& tensor : each.toTensorVector()) active->note_storage(tensor);
    }
  }
};

class OperatorTrace::MemoryListener : public c10::MemoryReportingInfoBase {
 public:
  explicit MemoryListener(OperatorTrace& trace) : trace_(trace) {}

  void reportMemoryUsage(void*, std::int64_t size, std::size_t, std::size_t, c10::Device) override {
    trace_.held_bytes_ += size;
  }
  bool memoryProfilingEnabled() const override { return true; }

 private:
  OperatorTrace& trace_;
};

void OperatorTrace::note_storage(const torch::Tensor& tensor) {
  if (!tensor.defined() || !tensor.is_meta() || !tensor.has_storage()) return;
  const auto storage = tensor.storage().getWeakStorageImpl();
  const void* place = tensor.storage().unsafeGetStorageImpl();
  if (!there_before_.contains(place)) made_on_meta_.insert_or_assign(place, storage);
}

std::int64_t OperatorTrace::held_bytes() const {
  std::int64_t sum = held_bytes_;
  for (const auto& [place, storage] : made_on_meta_) {
    if (const auto alive = storage.lock()) sum += static_cast<std::int64_t>(alive->nbytes());
  }
  return sum;
}

OperatorTrace::OperatorTrace(const torch::nn::Module& model) {
  for (const auto& tensors : {model.parameters(), model.buffers()}) {
    for (const torch::Tensor& tensor : tensors) there_before_.insert(tensor.storage().unsafeGetStorageImpl());
  }
  for (const auto& parameter : model.named_parameters()) {
    const std::string& name = parameter.key();
    const auto dot = name.rfind('.');
    layer_of_parameter_[parameter.value().unsafeGetTensorImpl()] =
        dot == std::string::npos ? name : name.substr(0, dot);
  }
  active = this;
  callback_ = at::addThreadLocalCallback(at::RecordFunctionCallback(&Listener::started, &Listener::ended)
                                             .needsInputs(true)
                                             .needsOutputs(true)
                                             .scopes({at::RecordScope::FUNCTION}));
  c10::ThreadLocalDebugInfo::_push(c10::DebugInfoKind::PROFILER_STATE,
                                   std::make_shared<MemoryListener>(*this));
}

OperatorTrace::~OperatorTrace() {
  c10::ThreadLocalDebugInfo::_pop(c10::DebugInfoKind::PROFILER_STATE);
  at::removeCallback(callback_);
  active = nullptr;
}

}  // namespace runner
