#include "runner/cli/options/run_folders.hpp"

#include <algorithm>

#include "runner/predict/load_run.hpp"
#include "runner/runs/own_files.hpp"
#include "runner/runs/run_record.hpp"

namespace runner::cli {

namespace fs = std::filesystem;

std::vector<fs::path> run_folders(const std::vector<std::string>& words, bool folders) {
  std::vector<fs::path> found;
  for (const std::string& word : words) {
    std::vector<fs::path> inside;
    if (folders && fs::is_directory(word)) inside = find_runs(word);
    if (inside.empty()) inside.push_back(find_run(word));
    for (fs::path& folder : inside) {  // "latest" is a link to a run that may be in the list already
      const bool known = std::ranges::any_of(found, [&](const fs::path& other) {
        std::error_code ignored;
        return fs::equivalent(other, folder, ignored);
      });
      if (known) continue;
      require_own_files(folder);
      found.push_back(std::move(folder));
    }
  }
  return found;
}

}  // namespace runner::cli
