#pragma once

#include "components/contract/weights.hpp"
#include "components/models/model.hpp"

namespace runner {

// The weights of a model that this rank holds whole.
class ModelWeights final : public Weights {
 public:
  explicit ModelWeights(const Model& model) : model_(model) {}

  std::vector<NamedTensor> held_parameters() const override;
  std::vector<NamedTensor> held_buffers() const override;
  void visit(const Visit& visit) const override;
  std::vector<std::string> parameter_names() const override;
  bool trained(const std::string& name) const override;

 private:
  const Model& model_;
};

}  // namespace runner
