#include "runner/examine/problems.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "runner/terminal/format.hpp"

namespace runner {

namespace {

constexpr double much_imbalance = 20;  // the largest class against the smallest
constexpr double many_gaps = 0.2, many_unknown = 0.02, many_cut = 0.1;
constexpr double far_apart = 0.5;          // means of a column, in deviations
constexpr std::size_t most_of_a_kind = 5;  // sentences about columns or classes

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, share < 0.1 ? "%.1f %%" : "%.0f %%", 100 * share);
  return text;
}

std::string part_text(const PartFindings& part) { return part.name == "train" ? "training" : "evaluation"; }

std::string class_text(const PartFindings& part, std::size_t label) {
  return "\"" +
         (label < part.spec.class_names.size() ? part.spec.class_names[label] : std::to_string(label)) + "\"";
}

// At most a few of many alike, and how many more there are.
void add_some(std::vector<std::string>& to, const std::vector<std::string>& alike) {
  const std::size_t shown = std::min(alike.size(), most_of_a_kind);
  to.insert(to.end(), alike.begin(), alike.begin() + static_cast<std::ptrdiff_t>(shown));
  if (shown < alike.size())
    to.back() +=
        " The same holds for " + grouped(std::ssize(alike) - static_cast<std::ptrdiff_t>(shown)) + " more.";
}

void reading(const PartFindings& part, DataFindings& found) {
  const std::int64_t tried = std::ssize(part.examined) + part.broken_count;
  if (part.broken_count > 0) {
    found.problems.push_back(grouped(part.broken_count) + " of " + grouped(tried) + " " + part_text(part) +
                             " examples cannot be read; the first: " + part.broken.front() +
                             " Training stops there, unless loader.on_error = \"skip\".");
  }
  if (part.wrong_labels > 0) {
    found.problems.push_back(grouped(part.wrong_labels) + " " + part_text(part) +
                             " examples have a label that is none of the " + grouped(part.spec.classes) +
                             " classes.");
  }
  if (part.not_finite > 0) {
    found.problems.push_back(grouped(part.not_finite) + " " + part_text(part) +
                             " examples hold numbers that are not finite: the loss will not be a number.");
  }
  if (tried < part.examples) {
    found.notes.push_back("Of " + grouped(part.examples) + " " + part_text(part) + " examples " +
                          grouped(tried) + ", spread evenly, were examined; --examples N examines more.");
  }
}

void leaks(DataFindings& found) {
  if (found.duplicate_count > 0) {
    const auto examined = static_cast<double>(found.parts[1].examined.size());
    found.problems.push_back(grouped(found.duplicate_count) + " evaluation examples (" +
                             percent(static_cast<double>(found.duplicate_count) / examined) +
                             ") are in the training part too: the evaluation will look better than it is.");
  }
  for (const PartFindings& part : found.parts) {
    const std::int64_t repeated = std::ssize(part.examined) - std::ssize(part.contents);
    if (repeated > 0 && part.spec.vocabulary == 0)
      found.notes.push_back(grouped(repeated) + " " + part_text(part) +
                            " examples repeat another one of that part.");
  }
}

void balance(const PartFindings& part, DataFindings& found) {
  const auto& counts = part.class_counts;
  if (counts.empty() || part.examined.empty()) return;
  std::vector<std::string> missing;
  for (std::size_t label = 0; label < counts.size(); ++label) {
    if (counts[label] == 0)
      missing.push_back("Class " + class_text(part, label) + " has no " + part_text(part) + " example.");
  }
  const bool all_seen = std::ssize(part.examined) + part.broken_count == part.examples;
  add_some(part.name == "train" && all_seen ? found.problems : found.notes, missing);
  const auto largest = std::ranges::max_element(counts);
  const auto smallest =
      std::ranges::min_element(counts, {}, [](std::int64_t count) { return count > 0 ? count : INT64_MAX; });
  if (part.name == "train" && *smallest > 0 &&
      static_cast<double>(*largest) > much_imbalance * static_cast<double>(*smallest)) {
    found.problems.push_back("Class " + class_text(part, static_cast<std::size_t>(largest - counts.begin())) +
                             " has " + grouped(*largest) + " training examples and " +
                             class_text(part, static_cast<std::size_t>(smallest - counts.begin())) +
                             " only " + grouped(*smallest) +
                             ": accuracy will say little about the rare one.");
  }
}

void columns(DataFindings& found) {
  const PartFindings& train = found.parts.front();
  std::vector<std::string> gaps, constant, apart;
  for (std::size_t i = 0; i < train.columns.size(); ++i) {
    const ColumnFindings& column = train.columns[i];
    const std::string name = "Column \"" + column.name + "\"";
    if (column.gaps > many_gaps)
      gaps.push_back(name + " has no value in " + percent(column.gaps) + " of the training rows.");
    if (column.distinct == 1 && train.examined.size() > 1)
      constant.push_back(name +
                         " has the same value in every training row: the model learns nothing from it.");
    if (found.parts.size() < 2 || i >= found.parts[1].columns.size() || column.deviation == 0) continue;
    const double shift = std::abs(found.parts[1].columns[i].mean - column.mean) / column.deviation;
    if (shift > far_apart)
      apart.push_back(name + " has another mean in the evaluation part, by " + measured(shift) +
                      " deviations.");
  }
  add_some(found.problems, gaps);
  add_some(found.problems, constant);
  add_some(found.notes, apart);
}

void tokens(const PartFindings& part, DataFindings& found) {
  if (part.lengths.empty() || part.tokens == 0) return;
  const double unknown = static_cast<double>(part.unknown_tokens) / static_cast<double>(part.tokens);
  if (part.unknown_tokens > 0) {
    const std::string text = percent(unknown) + " of the tokens of the " + part_text(part) +
                             " part are unknown to the vocabulary.";
    (unknown > many_unknown ? found.problems : found.notes).push_back(text);
  }
  const bool vary = std::ranges::count_if(part.lengths, [](std::int64_t count) { return count > 0; }) > 1;
  const double full = static_cast<double>(part.lengths.back()) / static_cast<double>(part.examined.size());
  if (vary && full > many_cut) {
    found.problems.push_back(percent(full) + " of the " + part_text(part) + " texts fill all " +
                             grouped(std::ssize(part.lengths) - 1) +
                             " tokens and are probably cut off; a larger dataset.length keeps more.");
  }
}

}  // namespace

void find_problems(DataFindings& found) {
  if (!found.stand_in.empty()) found.problems.push_back(found.stand_in);
  for (const PartFindings& part : found.parts) reading(part, found);
  if (found.parts.size() < 2)
    found.problems.push_back("There is no evaluation part: nothing will be measured.");
  if (found.parts.size() > 1) leaks(found);
  for (const PartFindings& part : found.parts) balance(part, found);
  columns(found);
  for (const PartFindings& part : found.parts) tokens(part, found);
}

}  // namespace runner
