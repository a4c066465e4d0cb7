#include "runner/train/model_file.hpp"

#include "components/support/weights/safetensors.hpp"

namespace runner {

void save_model(const Model& model, const std::filesystem::path& path) {
  std::vector<std::pair<std::string, torch::Tensor>> tensors;
  const auto add = [&](const std::string& name, const torch::Tensor& tensor) {
    tensors.emplace_back(name, tensor.detach().cpu().contiguous());
  };
  for (const auto& parameter : model.named_parameters()) add(parameter.key(), parameter.value());
  for (const auto& buffer : model.named_buffers()) add(buffer.key(), buffer.value());
  write_safetensors(path, tensors, {{"format", "pt"}});
}

}  // namespace runner
