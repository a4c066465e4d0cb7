// Files of weights, safetensors and torch.save: never a crash, never more memory than the file accounts for,
// and a decent message.
#include <torch/types.h>

#include <cstdint>
#include <fstream>

#include "components/weights/safetensors.hpp"
#include "components/weights/torch_file.hpp"
#include "tests/fuzz/core/message.hpp"
#include "tests/support/temporary_folder.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace runner;
  static const testing::TemporaryFolder folder;
  const auto path = folder / "fuzz";
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  const auto attempt = [&](const auto& read) {
    try {
      for (const auto& [name, tensor] : read(path))
        if (tensor.numel() > (1 << 20) && static_cast<std::size_t>(tensor.numel()) > 64 * size) std::abort();
    } catch (const std::exception& error) {
      require_decent(error.what());
    }
  };
  attempt([](const auto& file) { return read_safetensors(file); });
  attempt([](const auto& file) { return read_torch_file(file).tensors; });
  return 0;
}
