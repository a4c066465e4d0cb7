#include "components/support/weights/weights_checksum.hpp"

#include <stdexcept>

#include "components/support/io/mapping_guard.hpp"
#include "components/support/io/written_file.hpp"
#include "components/support/shape_text.hpp"
#include "components/support/weights/safetensors.hpp"

namespace runner {

std::string weights_checksum(const std::map<std::string, torch::Tensor>& tensors) {
  std::string list;
  for (const auto& [name, tensor] : tensors) {
    const auto plain = tensor.detach().cpu().resolve_conj().resolve_neg().contiguous();
    const std::string_view bytes{static_cast<const char*>(plain.const_data_ptr()), plain.nbytes()};
    list += name + " " + form_text(plain) + " " + std::to_string(xxh3_of(bytes)) + "\n";
  }
  return "xxh3:" + std::to_string(xxh3_of(list));
}

void require_intact_weights(const std::filesystem::path& path) {
  const Metadata metadata = read_safetensors_metadata(path);
  const auto expected = metadata.find(checksum_key);
  if (expected == metadata.end()) return;
  const auto file = PrivateMapping::open(path, PrivateMapping::Access::read_only);
  const std::string found = weights_checksum(read_safetensors(file));
  require_whole_files();
  if (found != expected->second)
    throw std::runtime_error(path.string() + " is damaged: its contents do not match its checksum.");
}

}  // namespace runner
