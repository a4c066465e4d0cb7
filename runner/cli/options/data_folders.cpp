#include "runner/cli/options/data_folders.hpp"

namespace runner::cli {

namespace fs = std::filesystem;

fs::path program_folder() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  return error ? fs::path() : program.parent_path();
}

std::vector<fs::path> data_folders(std::string_view name) {
  const fs::path folder = program_folder();
  if (folder.empty()) return {};
  return {folder / "../share/runner" / name, folder / "../../.." / name};  // the second for build/release/bin
}

}  // namespace runner::cli
