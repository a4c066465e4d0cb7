#pragma once

#include <torch/types.h>

#include <filesystem>

namespace runner {

// Copies of tensors in a file without a name, for data that is needed for a short time and would not fit into
// memory. The system evicts their pages from memory when needed; the disk space is freed once the spool and
// all tensors are gone.
class TensorSpool {
 public:
  explicit TensorSpool(const std::filesystem::path& folder);  // throws IoError
  ~TensorSpool();
  TensorSpool(const TensorSpool&) = delete;
  TensorSpool& operator=(const TensorSpool&) = delete;

  torch::Tensor put(const torch::Tensor& tensor);  // the copy is writable

 private:
  const std::filesystem::path folder_;
  int file_ = -1;
  std::int64_t size_ = 0;
};

}  // namespace runner
