#include "components/trackers/support/keep_lines.hpp"

#include <charconv>
#include <fstream>
#include <limits>
#include <string>

#include "components/support/io/atomic_file.hpp"
#include "components/support/io/backward_lines.hpp"

namespace runner {

void keep_lines(const std::filesystem::path& path, std::function<bool(std::string_view line)> wanted) {
  if (!std::filesystem::is_regular_file(path)) return;
  AtomicFile kept(path);
  bool dropped = false;
  std::ifstream in(path, std::ios::binary);
  std::string waiting;
  for (std::string line; std::getline(in, line);) {
    if (wanted(line)) {
      waiting += line + "\n";
    } else {
      dropped = true;
    }
    if (waiting.size() > 1 << 16) kept.write(std::exchange(waiting, {}));
  }
  kept.write(waiting);
  if (dropped) kept.commit();
}

void cut_lines(const std::filesystem::path& path, const std::function<bool(std::string_view line)>& wanted,
               std::uint64_t begin) {
  if (!std::filesystem::is_regular_file(path)) return;
  const auto size = std::filesystem::file_size(path);
  auto end = size;
  BackwardLines lines(path, begin);
  for (auto line = lines.next(); line && !wanted(line->text); line = lines.next()) end = line->offset;
  if (end < size) std::filesystem::resize_file(path, end);
}

std::int64_t leading_integer(std::string_view text) {
  std::int64_t number = std::numeric_limits<std::int64_t>::min();
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace runner
