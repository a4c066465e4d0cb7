#pragma once

#include <torch/nn/module.h>

#include <map>
#include <set>
#include <string>

#include "components/models/exported/archive.hpp"
#include "components/models/exported/program.hpp"

namespace runner::exported {

// The parameters, buffers and constants of a file's programs. Programs that name the same parameter or buffer
// share it.
class HeldTensors {
 public:
  explicit HeldTensors(const Archive& archive) : archive_(archive) {}

  // The tensors of a program in the order of Program::held, with the values of the file. Those that exist
  // already must have the same shapes. Throws Refusal.
  std::vector<torch::Tensor> of(const Program& program, const std::string& name);

  // Registers parameters and buffers under Python's names. Of the buffers, those that Python's state_dict
  // has, and those in `changed`: what the program writes into is part of the state.
  void register_in(torch::nn::Module& module, const Program& program, const std::vector<bool>& changed) const;

 private:
  torch::Tensor tensor(const std::string& name, const StoredTensor& stored, bool parameter);
  torch::Tensor read(const StoredTensor& stored) const;

  const Archive& archive_;
  struct Made {
    StoredTensor stored;
    torch::Tensor tensor;
    std::string name;
  };
  std::map<std::string, std::vector<Made>> by_entry_;  // for tensors with two names
  std::map<std::string, torch::Tensor> by_name_;       // parameters and buffers
};

}  // namespace runner::exported
