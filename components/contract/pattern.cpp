#include "components/contract/pattern.hpp"

#include <set>

#include "registry/base/suggest.hpp"
#include "registry/base/wording.hpp"

namespace runner {

// On a mismatch, only the last `*` has to match one more character, so the time is at most the product of the
// two lengths.
bool matches(std::string_view pattern, std::string_view name) {
  constexpr auto none = std::string_view::npos;
  std::size_t p = 0, n = 0, star = none, resume = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p, ++n;
    } else if (star != none) {
      p = star + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool selects(std::string_view pattern, std::string_view name) {
  if (matches(pattern, name)) return true;
  for (auto dot = name.find('.'); dot != std::string_view::npos; dot = name.find('.', dot + 1)) {
    if (matches(pattern, name.substr(0, dot))) return true;
  }
  return false;
}

std::string nothing_selected(std::string_view setting, std::string_view pattern,
                             const std::vector<std::string>& names) {
  std::set<std::string> candidates(names.begin(), names.end());
  for (const std::string& name : names) {
    for (auto dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1)) {
      candidates.insert(name.substr(0, dot));
    }
  }
  std::string message = std::string(setting) + ": " + in_quotes(pattern) + " matches nothing";
  if (const auto hint = did_you_mean(pattern, {candidates.begin(), candidates.end()})) {
    message += "; " + *hint;
  } else if (!names.empty()) {
    message += "; names look like " + in_quotes(names.front()) + " and " + in_quotes(names.back());
  }
  return message;
}

}  // namespace runner
