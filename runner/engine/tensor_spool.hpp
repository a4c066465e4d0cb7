#pragma once

#include <torch/types.h>

#include <filesystem>

namespace runner {

// Copies of tensors in a file without a name, for what is needed for a short time and would not fit into
// memory. The system drops their pages from memory as it needs to; the file is gone with the spool and the
// last of them.
class TensorSpool {
 public:
  explicit TensorSpool(const std::filesystem::path& folder);  // throws IoError
  ~TensorSpool();
  TensorSpool(const TensorSpool&) = delete;
  TensorSpool& operator=(const TensorSpool&) = delete;

  torch::Tensor put(const torch::Tensor& tensor);  // may be written to, as any other

 private:
  const std::filesystem::path folder_;
  int file_ = -1;
  std::int64_t size_ = 0;
};

}  // namespace runner
