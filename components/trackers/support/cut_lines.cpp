#include "components/trackers/support/cut_lines.hpp"

#include <charconv>

#include "components/support/io/backward_lines.hpp"

namespace runner {

void cut_lines(const std::filesystem::path& path,
               const std::function<std::optional<std::int64_t>(std::string_view line)>& step_of,
               const std::function<bool(std::int64_t step)>& is_kept, std::uint64_t begin) {
  if (!std::filesystem::is_regular_file(path)) return;
  const auto size = std::filesystem::file_size(path);
  auto end = size;
  BackwardLines lines(path, begin);
  while (const auto line = lines.next()) {
    const auto step = step_of(line->text);
    if (!step) continue;
    if (is_kept(*step)) break;
    end = line->offset;
  }
  if (end < size) std::filesystem::resize_file(path, end);
}

std::optional<std::int64_t> leading_integer(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  return number;
}

}  // namespace runner
