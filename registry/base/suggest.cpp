#include "registry/base/suggest.hpp"

#include <algorithm>
#include <ranges>

#include "registry/base/ascii.hpp"
#include "registry/base/wording.hpp"

namespace runner {

namespace {

bool contains_part(std::string_view whole, std::string_view part) {
  return part.size() >= 3 && whole.find(part) != std::string_view::npos;
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  const std::size_t width = b.size() + 1;
  std::vector<std::size_t> before(width), previous(width), current(width);
  for (std::size_t j = 0; j < width; ++j) previous[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (std::size_t j = 1; j < width; ++j) {
      const bool same = ascii_lower(a[i - 1]) == ascii_lower(b[j - 1]);
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, previous[j - 1] + (same ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && ascii_lower(a[i - 1]) == ascii_lower(b[j - 2]) &&
                           ascii_lower(a[i - 2]) == ascii_lower(b[j - 1]);
      if (swapped) current[j] = std::min(current[j], before[j - 2] + 1);
    }
    std::swap(before, previous);
    std::swap(previous, current);
  }
  return previous[b.size()];
}

std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates) {
  constexpr std::size_t longest_word = 64;  // beyond that it is not a mistyped name
  if (word.empty() || word.size() > longest_word) return std::nullopt;
  const std::string* best = nullptr;
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
  constexpr std::size_t most_candidates = 2000;  // more names than this come from data, not from people
  for (const std::string& candidate : candidates | std::views::take(most_candidates)) {
    if (candidate.size() >= word.size() + best_distance) continue;  // takes too many insertions
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best = &candidate;
      best_distance = distance;
    }
  }
  if (best) return *best;
  // "batchsize_train" or "learning": not a typing mistake, but one name contains the other.
  for (const std::string& candidate : candidates) {
    if (contains_part(candidate, word) || contains_part(word, candidate)) return candidate;
  }
  return std::nullopt;
}

std::optional<std::string> did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  const auto meant = nearest(word, candidates);
  return meant ? std::optional("did you mean " + in_quotes(*meant) + "?") : std::nullopt;
}

}  // namespace runner
