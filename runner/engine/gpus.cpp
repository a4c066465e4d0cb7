#include "runner/engine/gpus.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace runner {

namespace fs = std::filesystem;

std::vector<std::string> installed_gpus() {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry("/proc/driver/nvidia/gpus", error), end; !error && entry != end;
       entry.increment(error)) {
    std::ifstream information(entry->path() / "information");
    for (std::string line; std::getline(information, line);) {
      constexpr std::string_view key = "Model:";
      if (!line.starts_with(key)) continue;
      const auto first = line.find_first_not_of(" \t", key.size());
      names.push_back(first == std::string::npos ? "unknown" : line.substr(first));
    }
  }
  std::ranges::sort(names);
  return names;
}

bool has_cuda_build() { return dlopen("libtorch_cuda.so", RTLD_LAZY | RTLD_NOLOAD) != nullptr; }

}  // namespace runner
