#pragma once

#include <torch/nn/module.h>

#include "components/contract/state.hpp"
#include "components/contract/weights.hpp"

namespace runner {

struct Adaptation;

// What an adapter made of this model; null: nothing. A checkpoint then holds only what is trained, and a
// checksum of the rest, which has to be the same when the run continues.
const Adaptation* adaptation_of(const torch::nn::Module& module);
void require_same_base(const Adaptation& adaptation, const std::string& saved);

// Each tensor once: a module that is registered under two names has two names for each of its tensors, and
// here they have the first.
std::vector<NamedTensor> each_once(const torch::OrderedDict<std::string, torch::Tensor>& tensors);

// The weights of a model that this rank holds completely: to read, save and load. Under all their names where
// they are saved and loaded.
class ModelWeights final : public Weights, public Stateful {
 public:
  explicit ModelWeights(const torch::nn::Module& model) : model_(model) {}

  std::vector<NamedTensor> held_parameters() const override;
  std::vector<NamedTensor> held_buffers() const override;
  std::vector<NamedTensor> all() const;  // parameters, then buffers
  void visit(const Visit& visit) const override;
  std::vector<std::string> parameter_names() const override;
  bool trained(const std::string& name) const override;

  State save() const override;  // parameters and buffers
  void load(const State& state) override;

 private:
  const torch::nn::Module& model_;
};

}  // namespace runner
