#include "runner/engine/zero3/storage_memory.hpp"

#include <c10/core/StorageImpl.h>

namespace runner {

namespace {

c10::StorageImpl& storage_of(const torch::Tensor& tensor) { return *tensor.storage().unsafeGetStorageImpl(); }

std::vector<std::int64_t> strides_in(torch::MemoryFormat layout, const torch::Tensor& tensor) {
  const bool own = tensor.dim() != 4 || layout == torch::MemoryFormat::Contiguous;
  if (own && tensor.is_non_overlapping_and_dense()) return tensor.strides().vec();
  return torch::empty(tensor.sizes(), torch::device(torch::kMeta))
      .contiguous(own ? torch::MemoryFormat::Contiguous : layout)
      .strides()
      .vec();
}

}  // namespace

void allocate_memory(const torch::Tensor& tensor) {
  c10::StorageImpl& storage = storage_of(tensor);
  storage.set_data_ptr_noswap(storage.allocator()->allocate(storage.nbytes()));
  storage.clear_data_ptr_access_error_msg_();
}

void free_memory(const torch::Tensor& tensor, const char* text) {
  c10::StorageImpl& storage = storage_of(tensor);
  storage.set_data_ptr_noswap(c10::DataPtr(nullptr, tensor.device()));
  storage.release_data_and_set_meta_custom_data_ptr_error_msg_(text);
}

void replace(const torch::Tensor& tensor, const torch::Tensor& other) {
  tensor.unsafeGetTensorImpl()->shallow_copy_from(other.getIntrusivePtr());
}

void place_without_memory(const torch::Tensor& tensor, torch::Device device, torch::MemoryFormat layout,
                          const char* text) {
  replace(tensor, torch::empty_strided(tensor.sizes(), strides_in(layout, tensor),
                                       torch::dtype(tensor.scalar_type()).device(device)));
  free_memory(tensor, text);
}

}  // namespace runner
