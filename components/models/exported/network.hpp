#pragma once

#include <torch/nn/module.h>

#include <filesystem>
#include <optional>

#include "components/contract/batch.hpp"
#include "components/contract/data_spec.hpp"
#include "components/models/exported/code.hpp"

namespace runner::exported {

// The programs of a file, joined with their tensors and with the fields of a batch.
class Network {
 public:
  // Registers the parameters in `module`. `output` names what forward returns; empty: its only tensor. Throws
  // Refusal, also if the program does not take the examples of the data.
  Network(const std::filesystem::path& file, const std::string& output, const DataSpec& data,
          torch::nn::Module& module);

  torch::Tensor forward(const Batch& batch, bool training);

  const TensorForm& input() const;  // what the batch's input feeds
  const TensorForm& output() const;

 private:
  struct Side {  // a program for training, or for evaluation
    Code code;
    std::size_t output;
    std::vector<torch::Tensor> held;  // the values of code.held
    std::vector<bool> loose;          // .. that no module holds, so that they are moved here
    std::vector<std::string> fields;  // of the batch, for each input; empty: its input
  };
  static Side side(Program program, const std::string& output, const DataSpec& data);
  torch::Tensor run_side(Side& side, const Batch& batch) const;

  std::optional<Side> training_, evaluation_;
};

}  // namespace runner::exported
