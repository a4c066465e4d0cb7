#pragma once

#include <string>
#include <vector>

#include "components/contract/weights.hpp"
#include "runner/engine/world.hpp"

namespace runner {

// The weights of a model with zero2: every rank has all values, but keeps only the gradients of the
// parameters that it updates. Visiting them sends each gradient from its owner to all ranks.
class OwnedGradients final : public Weights {
 public:
  // `owners`: the rank that updates each parameter, in the order of held_parameters().
  OwnedGradients(const Weights& held, std::vector<int> owners, World& world)
      : held_(held), owners_(std::move(owners)), world_(world) {}

  std::vector<NamedTensor> held_parameters() const override { return held_.held_parameters(); }
  std::vector<NamedTensor> held_buffers() const override { return held_.held_buffers(); }
  void visit(const Visit& visit) const override;
  std::vector<std::string> parameter_names() const override { return held_.parameter_names(); }
  bool trained(const std::string& name) const override { return held_.trained(name); }

 private:
  const Weights& held_;
  const std::vector<int> owners_;
  World& world_;
};

}  // namespace runner
