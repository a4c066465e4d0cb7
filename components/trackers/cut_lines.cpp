#include "components/trackers/cut_lines.hpp"

namespace runner {

void cut_lines(const std::filesystem::path& path,
               const std::function<std::optional<bool>(const BackwardLines::Line& line)>& is_kept,
               std::uint64_t begin) {
  if (!std::filesystem::is_regular_file(path)) return;
  const auto size = std::filesystem::file_size(path);
  auto end = size;
  BackwardLines lines(path, begin);
  while (const auto line = lines.next()) {
    const auto kept = is_kept(*line);
    if (!kept) continue;
    if (*kept) break;
    end = line->offset;
  }
  if (end < size) std::filesystem::resize_file(path, end);
}

}  // namespace runner
