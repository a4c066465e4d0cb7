#pragma once

#include "components/weights/pickle.hpp"

namespace runner::pickle {

// The names that Python's torch.save writes for tensors and ordinary containers.
class TorchVocabulary : public Vocabulary {
 public:
  bool knows(const std::string& global) const override;
  Object global(const std::string& global) const override;
  Object call(const std::string& global, const std::vector<const Object*>& arguments) const override;
  Object persistent(const Object& id) override;

  // The types of all storages by key: in the old layout the storages themselves do not state their type.
  const std::unordered_map<std::string, torch::Dtype>& storage_types() const { return storage_types_; }

 private:
  std::unordered_map<std::string, torch::Dtype> storage_types_;
};

}  // namespace runner::pickle
