#include "components/trackers/support/valid_utf8.hpp"

#include "registry/utf8.hpp"

namespace runner {

std::string valid_utf8(std::string_view text) {
  std::string valid;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    valid += length > 0 ? text.substr(0, length) : std::string_view("\xef\xbf\xbd");
    text.remove_prefix(length > 0 ? length : 1);
  }
  return valid;
}

std::string valid_utf8(std::string_view text, std::size_t most_bytes) {
  if (text.size() <= most_bytes) return valid_utf8(text);
  while (most_bytes > 0 && continues_utf8(text[most_bytes])) --most_bytes;
  return valid_utf8(text.substr(0, most_bytes));
}

}  // namespace runner
