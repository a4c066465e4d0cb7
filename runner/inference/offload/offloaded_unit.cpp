#include "runner/inference/offload/offloaded_unit.hpp"

#include <c10/core/StorageImpl.h>
#include <torch/utils.h>

namespace runner {

namespace {

c10::StorageImpl& memory_of(const torch::Tensor& tensor) { return *tensor.storage().unsafeGetStorageImpl(); }

// The tensor becomes another one: its module, and TorchScript code, hold it under the same address.
void replace(const torch::Tensor& tensor, const torch::Tensor& other) {
  tensor.unsafeGetTensorImpl()->shallow_copy_from(other.getIntrusivePtr());
}

// What Engine::prepare would make of it.
std::vector<std::int64_t> strides_in(torch::MemoryFormat layout, const torch::Tensor& tensor) {
  if (layout == torch::MemoryFormat::Contiguous || tensor.dim() != 4) return tensor.strides().vec();
  return torch::empty_strided(tensor.sizes(), tensor.strides(), torch::device(torch::kMeta))
      .contiguous(layout)
      .strides()
      .vec();
}

}  // namespace

OffloadedUnit::OffloadedUnit(std::vector<WeightMatch::Pair> parameters, const WeightFiles& files,
                             torch::Device device, torch::MemoryFormat layout)
    : parameters_(std::move(parameters)), files_(files), present_(true) {
  for (const auto& [name, parameter, source] : parameters_)
    replace(parameter, torch::empty_strided(parameter.sizes(), strides_in(layout, parameter),
                                            torch::dtype(parameter.scalar_type()).device(device)));
  release();
}

void OffloadedUnit::bring() {
  if (present_) return;
  const torch::NoGradGuard no_grad;
  for (const auto& [name, parameter, source] : parameters_) {
    c10::StorageImpl& memory = memory_of(parameter);
    memory.set_data_ptr_noswap(memory.allocator()->allocate(memory.nbytes()));
    memory.clear_data_ptr_access_error_msg_();
    torch::Tensor(parameter).copy_(source);
    files_.give_back(source);
  }
  present_ = true;
}

// The size stays as it is: views check that they lie within it.
void OffloadedUnit::release() {
  if (!present_) return;
  for (const auto& [name, parameter, source] : parameters_) {
    c10::StorageImpl& memory = memory_of(parameter);
    memory.set_data_ptr_noswap(c10::DataPtr(nullptr, parameter.device()));
    memory.release_data_and_set_meta_custom_data_ptr_error_msg_(
        "The weights are in their file (--offload): only a pass of the model brings them into memory.");
  }
  present_ = false;
}

void OffloadedUnit::will_need() const {
  for (const auto& [name, parameter, source] : parameters_) files_.will_need(source);
}

void OffloadedUnit::move_to(torch::Device device) {
  const torch::NoGradGuard no_grad;
  for (const auto& [name, parameter, source] : parameters_) {
    const torch::Tensor moved =
        torch::empty_strided(parameter.sizes(), parameter.strides(), parameter.options().device(device));
    replace(parameter, moved.copy_(source));
    files_.give_back(source);
  }
  present_ = true;
}

void OffloadedUnit::keep_in_main_memory() {
  for (auto& [name, parameter, source] : parameters_) {
    const torch::Tensor mapped = std::exchange(source, source.clone());
    files_.give_back(mapped);
  }
}

}  // namespace runner
