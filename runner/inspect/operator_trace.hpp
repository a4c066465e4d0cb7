#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace runner {

// Observes the operators that this thread executes while it exists: how much arithmetic they do, how much
// memory they hold, and which layer started last, so that an error can name it. Only one may exist per
// thread.
class OperatorTrace {
 public:
  explicit OperatorTrace(const torch::nn::Module& model);
  ~OperatorTrace();
  OperatorTrace(const OperatorTrace&) = delete;
  OperatorTrace& operator=(const OperatorTrace&) = delete;

  double flops() const { return flops_; }  // multiplications and additions in matrix products
  std::int64_t held_bytes() const;         // allocated since its construction and not freed
  const std::string& last_layer() const { return last_layer_; }

 private:
  struct Listener;
  void note_storage(const torch::Tensor& tensor);
  class MemoryListener;

  std::map<const void*, std::string> layer_of_parameter_;
  double flops_ = 0;
  std::int64_t held_bytes_ = 0;
  std::string last_layer_;
  // Allocators do not see tensors on the meta device, so those created meanwhile are tracked instead.
  std::map<const void*, c10::weak_intrusive_ptr<c10::StorageImpl>> made_on_meta_;
  std::set<const void*> there_before_;
  std::uint64_t callback_ = 0;
};

}  // namespace runner
