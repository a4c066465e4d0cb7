#include "operators.hpp"

#include <ATen/Context.h>
#include <ATen/core/Generator.h>
#include <ATen/ops/as_strided_native.h>
#include <torch/library.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>

#include "counts.hpp"
#include "generators.hpp"
#include "graph.hpp"
#include "memory.hpp"
#include "tensors.hpp"

namespace simulated_gpu {

namespace {

using c10::IValue;
using torch::jit::Stack;

// A GPU's kernels for these tell the host the size of the result, so the host waits.
const std::set<std::string_view> waiting = {"aten::nonzero",
                                            "aten::masked_select",
                                            "aten::_unique",
                                            "aten::_unique2",
                                            "aten::unique_dim",
                                            "aten::unique_dim_consecutive",
                                            "aten::unique_consecutive",
                                            "aten::equal",
                                            "aten::repeat_interleave",
                                            "aten::bincount",
                                            "aten::nonzero_static"};
// What they change is not in their schema.
const std::set<std::string_view> hidden_writes = {"aten::native_batch_norm", "aten::native_batch_norm.out"};
// They take tensors of the CPU beside tensors of a device.
const std::set<std::string_view> mixed = {"aten::index",
                                          "aten::index_put_",
                                          "aten::_index_put_impl_",
                                          "aten::_ctc_loss",
                                          "aten::_ctc_loss_backward",
                                          "aten::_pack_padded_sequence",
                                          "aten::_pack_padded_sequence_backward",
                                          "aten::index_put"};

const std::set<std::string_view> products = {"aten::mm",     "aten::addmm",  "aten::bmm",     "aten::baddbmm",
                                             "aten::addbmm", "aten::addmv",  "aten::mv",      "aten::dot",
                                             "aten::linear", "aten::addmm_", "aten::baddbmm_"};

// As LibTorch does before it calls cuBLAS.
void require_deterministic_product() {
  if (!at::globalContext().deterministicAlgorithms()) return;
  const char* const workspace = std::getenv("CUBLAS_WORKSPACE_CONFIG");
  TORCH_CHECK(
      workspace && (std::string_view(workspace) == ":4096:8" || std::string_view(workspace) == ":16:8"),
      "Deterministic behavior was enabled, but this operation is not deterministic because it uses CuBLAS. "
      "To "
      "enable deterministic behavior in this case, set CUBLAS_WORKSPACE_CONFIG=:4096:8 or :16:8.");
}

struct Argument {
  at::Tensor tensor, view;
  const void* memory;  // of the view, before the kernel
  bool written;
};

// One call: its arguments as the CPU's kernel gets them.
class Call {
 public:
  Call(const c10::OperatorHandle& op, Stack& stack)
      : op_(op), name_(op.operator_name().name), is_mixed_(mixed.contains(op.schema().name())) {
    const auto& arguments = op.schema().arguments();
    const auto first = stack.size() - arguments.size();
    for (std::size_t i = 0; i < arguments.size(); ++i) find_device(stack[first + i]);
    TORCH_CHECK(device_ >= 0, "simulated GPU: ", name_, " has no tensor of a device");
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const auto* const alias = arguments[i].alias_info();
      const bool written =
          (alias && alias->isWrite()) || (hidden_writes.contains(op.schema().name()) && (i == 3 || i == 4));
      replace(stack[first + i], written,
              arguments[i].type()->isSubtypeOf(*c10::OptionalType::create(c10::GeneratorType::get())));
    }
  }

  int device() const { return device_; }
  const std::vector<Argument>& arguments() const { return arguments_; }

  void use_memory() {
    const std::lock_guard lock(state());
    ++counts().operators;
    stream_ = current_stream(device_);
    now_ = launch(stream_);
    if (is_view()) return;
    for (const Argument& argument : arguments_) {
      use(argument.tensor, now_, false, name_.c_str());
      if (argument.written) use(argument.tensor, now_, true, name_.c_str());
    }
    if (waiting.contains(op_.schema().name())) host_waits(stream_, op_.schema().name().c_str());
  }

  void finish(Stack& stack) {
    for (const Argument& argument : arguments_)
      if (argument.written) take_shape(argument.tensor, argument.view, argument.memory);
    const auto results = op_.schema().returns().size();
    for (std::size_t i = stack.size() - results; i < stack.size(); ++i) stack[i] = result(stack[i]);
  }

 private:
  bool is_view() const {
    const auto& returns = op_.schema().returns();
    return std::ranges::any_of(
        returns, [](const auto& value) { return value.alias_info() && !value.alias_info()->isWrite(); });
  }

  void find_device(const IValue& value) {
    if (value.isTensor()) {
      const auto& tensor = value.toTensor();
      if (!tensor.defined() || !tensor.is_cuda()) return;
      if (device_ >= 0 && device_ != tensor.get_device())
        fault(name_ +
              ": Expected all tensors to be on the same device, but found at least two devices, cuda:" +
              std::to_string(device_) + " and cuda:" + std::to_string(tensor.get_device()) + " (" +
              described(tensor) + ")");
      device_ = tensor.get_device();
    } else if (value.isDevice() && value.toDevice().is_cuda() && device_ < 0) {
      device_ = value.toDevice().has_index() ? value.toDevice().index() : current_device();
    } else if (value.isList()) {
      for (const IValue& element : value.toListRef()) find_device(element);
    }
  }

  static int current_device() { return c10::impl::getDeviceGuardImpl(c10::kCUDA)->getDevice().index(); }
  static std::string described(const at::Tensor& tensor) {
    std::ostringstream text;
    text << tensor.toString() << ' ' << tensor.sizes();
    return text.str();
  }

  void replace(IValue& value, bool written, bool is_generator) {
    if (value.isTensor()) {
      const auto tensor = value.toTensor();
      if (!tensor.defined()) return;
      if (tensor.is_cuda()) {
        arguments_.push_back({tensor, host_view(tensor), nullptr, written});
        arguments_.back().memory = arguments_.back().view.unsafeGetTensorImpl()->unsafe_storage().data();
        value = arguments_.back().view;
      } else if (tensor.dim() > 0 && !is_mixed_) {
        fault(name_ +
              ": Expected all tensors to be on the same device, but found at least two devices, cuda:" +
              std::to_string(device_) + " and " + tensor.device().str() + " (" + described(tensor) + ")");
      }
    } else if (value.isTensorList()) {
      c10::List<at::Tensor> views;
      for (const at::Tensor& tensor : value.toTensorVector()) {
        IValue element(tensor);
        replace(element, written, false);
        views.push_back(element.toTensor());
      }
      value = views;
    } else if (value.isOptionalTensorList()) {
      c10::List<std::optional<at::Tensor>> views;
      for (const IValue& each : value.toListRef()) {
        IValue element = each;
        replace(element, written, false);
        views.push_back(element.toOptional<at::Tensor>());
      }
      value = views;
    } else if (value.isDevice()) {
      if (value.toDevice().is_cuda()) value = c10::Device(c10::kCPU);
    } else if (is_generator) {
      value = drawn_from(value.isNone() ? default_generator(device_) : value.toGenerator());
    }
  }

  IValue result(const IValue& value) {
    if (value.isTensor()) return value.toTensor().defined() ? IValue(result(value.toTensor())) : value;
    if (value.isTensorList()) {
      c10::List<at::Tensor> made;
      for (const at::Tensor& tensor : value.toTensorVector()) made.push_back(result(tensor));
      return made;
    }
    return value;
  }

  at::Tensor result(const at::Tensor& host) {
    for (const Argument& argument : arguments_)
      if (argument.view.is_same(host)) return argument.tensor;
    const void* const memory = host.unsafeGetTensorImpl()->unsafe_storage().data();
    for (const Argument& argument : arguments_)
      if (memory && memory == argument.memory) return part_of(argument.tensor, host);
    at::Tensor made = on_device(host, device_);
    const std::lock_guard lock(state());
    use(made, now_, true, name_.c_str());
    describe_block(made, name_.c_str());
    return made;
  }

  const c10::OperatorHandle& op_;
  std::string name_;
  bool is_mixed_;
  int device_ = -1, stream_ = 0;
  Moment now_;
  std::vector<Argument> arguments_;
};

void run_on_cpu(const c10::OperatorHandle& op, Stack* stack) {
  op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
}

}  // namespace

void run_operator(const c10::OperatorHandle& op, Stack* stack) {
  if (products.contains(op.schema().name())) require_deterministic_product();
  Call call(op, *stack);
  call.use_memory();
  Stack again;
  if (is_capturing())
    again.assign(stack->end() - static_cast<std::ptrdiff_t>(op.schema().arguments().size()), stack->end());
  run_on_cpu(op, stack);
  call.finish(*stack);
  if (!is_capturing()) return;
  // A replay writes what it computes where this call did.
  std::vector<at::Tensor> results;
  const auto keep = [&](const at::Tensor& tensor) {
    if (tensor.defined()) results.push_back(tensor);
  };
  for (std::size_t i = stack->size() - op.schema().returns().size(); i < stack->size(); ++i) {
    if ((*stack)[i].isTensor()) keep((*stack)[i].toTensor());
    if ((*stack)[i].isTensorList())
      for (const at::Tensor& tensor : (*stack)[i].toTensorVector()) keep(tensor);
  }
  add_to_graph([op, again, results, kept = call.arguments()] {
    Stack values = again;
    run_on_cpu(op, &values);
    std::size_t next = 0;
    const auto put = [&](const at::Tensor& value) {
      if (!value.defined()) return;
      const at::Tensor to = host_view(results[next++]);
      if (to.unsafeGetTensorImpl()->unsafe_storage().data() !=
          value.unsafeGetTensorImpl()->unsafe_storage().data())
        to.copy_(value);
    };
    for (std::size_t i = values.size() - op.schema().returns().size(); i < values.size(); ++i) {
      if (values[i].isTensor()) put(values[i].toTensor());
      if (values[i].isTensorList())
        for (const at::Tensor& value : values[i].toTensorVector()) put(value);
    }
  });
}

TORCH_LIBRARY_IMPL(_, CUDA, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&run_operator>());
}

void take_kernels_of_cpu() {
  static torch::Library library(torch::Library::IMPL, "aten", c10::DispatchKey::CUDA, __FILE__, __LINE__);
  auto& dispatcher = c10::Dispatcher::singleton();
  for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
    if (name.getNamespace() != "aten" || name.name == "aten::_efficientzerotensor") continue;
    const auto op = dispatcher.findOp(name);
    if (!op || !op->hasKernelForDispatchKey(c10::DispatchKey::CPU) ||
        op->hasKernelForDispatchKey(c10::DispatchKey::CUDA))
      continue;
    const std::string_view full = name.name;
    const std::string own = std::string(full.substr(full.find("::") + 2)) +
                            (name.overload_name.empty() ? "" : "." + name.overload_name);
    library.impl(own.c_str(), torch::CppFunction::makeFromBoxedFunction<&run_operator>());
  }
}

}  // namespace simulated_gpu
