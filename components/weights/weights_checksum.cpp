#include "components/weights/weights_checksum.hpp"

#include <stdexcept>

#include "components/torch/shape_text.hpp"
#include "registry/base/wording.hpp"
#include "registry/files/mapping_guard.hpp"
#include "registry/files/written_file.hpp"

namespace runner {

namespace {

// Other tensors cannot be written, and write_safetensors() says why.
bool has_plain_values(const torch::Tensor& tensor) {
  return tensor.defined() && tensor.layout() == torch::kStrided;
}

}  // namespace

std::string weights_checksum(const std::map<std::string, torch::Tensor>& tensors, const Metadata& metadata,
                             const std::function<void(const torch::Tensor&)>& done_with) {
  std::string list;
  for (const auto& [key, value] : metadata)
    if (key != checksum_key) list += key + "=" + value + "\n";
  for (const auto& [name, tensor] : tensors) {
    if (!has_plain_values(tensor)) continue;
    const auto plain = tensor.detach().cpu().resolve_conj().resolve_neg().contiguous();
    const std::string_view bytes{static_cast<const char*>(plain.const_data_ptr()), plain.nbytes()};
    list += name + " " + form_text(plain) + " " + std::to_string(xxh3_of(bytes)) + "\n";
    if (done_with) done_with(tensor);
  }
  return "xxh3:" + std::to_string(xxh3_of(list));
}

void require_intact_weights(const std::filesystem::path& path) {
  require_intact_weights(PrivateMapping::open(path, PrivateMapping::Access::read_only));
}

void require_intact_weights(const std::shared_ptr<PrivateMapping>& file) {
  const Metadata metadata = read_safetensors_metadata(file);
  const auto expected = metadata.find(checksum_key);
  if (expected == metadata.end()) return;
  const auto give_back = [&](const torch::Tensor& read) {
    file->give_back({static_cast<const std::byte*>(read.const_data_ptr()), read.nbytes()});
  };
  const std::string found = weights_checksum(read_safetensors(file), metadata, give_back);
  require_whole_files();
  if (found != expected->second)
    throw std::runtime_error(file->path().string() +
                             " is damaged: its contents do not match its checksum. If they were changed on "
                             "purpose, remove " +
                             in_quotes(checksum_key) + " from its metadata.");
}

}  // namespace runner
