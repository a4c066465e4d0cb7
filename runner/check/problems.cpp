#include "runner/check/data_findings.hpp"

#include <algorithm>
#include <cmath>

#include "registry/base/wording.hpp"
#include "runner/terminal/format.hpp"

namespace runner {

namespace {

constexpr double much_imbalance = 20;  // size of the largest class relative to the smallest
constexpr double many_missing = 0.2, many_unknown = 0.02, many_cut = 0.1;
constexpr double far_apart = 0.5;          // difference of two means of a column, in standard deviations
constexpr std::size_t most_of_a_kind = 5;  // similar sentences shown

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, share < 0.1 ? "%.1f %%" : "%.0f %%", 100 * share);
  return text;
}

// "1 training example", "3 validation examples"
std::string examples_text(std::int64_t count, const SetFindings& set) {
  return grouped(count, set.name + " example");
}

bool is_training(const SetFindings& set) { return set.name == "training"; }

std::string class_text(const SetFindings& set, std::size_t label) {
  return in_quotes(set.spec.class_name(static_cast<std::int64_t>(label)));
}

// Adds the first few of many similar sentences, and how many more there are.
void add_some(std::vector<std::string>& to, const std::vector<std::string>& alike) {
  const std::size_t shown = std::min(alike.size(), most_of_a_kind);
  to.insert(to.end(), alike.begin(), alike.begin() + static_cast<std::ptrdiff_t>(shown));
  if (shown < alike.size())
    to.back() +=
        " The same is true of " + grouped(std::ssize(alike) - static_cast<std::ptrdiff_t>(shown)) + " more.";
}

void reading(const SetFindings& set, DataFindings& found) {
  const std::int64_t tried = std::ssize(set.examined) + set.broken_count;
  if (set.broken_count > 0) {
    found.problems.push_back(grouped(set.broken_count) + " of " + examples_text(tried, set) +
                             " cannot be read; the first: " + set.broken.front() +
                             " Training stops there, unless loader.on_error = \"skip\".");
  }
  if (set.wrong_labels > 0) {
    found.problems.push_back(examples_text(set.wrong_labels, set) +
                             (set.wrong_labels == 1 ? " has" : " have") + " a label that is not one of the " +
                             grouped(set.spec.classes) + " classes.");
  }
  for (const auto& [count, what] :
       {std::pair{set.not_finite, "inputs"}, {set.targets_not_finite, "targets"}}) {
    if (count == 0) continue;
    found.problems.push_back(examples_text(count, set) + (count == 1 ? " has " : " have ") + what +
                             " that are not finite numbers: the loss will not be finite either.");
  }
  if (tried < set.examples) {
    found.notes.push_back(grouped(tried) + " of " + examples_text(set.examples, set) +
                          ", evenly spaced, were examined; --examples N examines more.");
  }
}

void leaks(DataFindings& found) {
  if (found.duplicate_count > 0) {
    const auto examined = static_cast<double>(found.sets[1].examined.size());
    found.problems.push_back(examples_text(found.duplicate_count, found.sets[1]) + " (" +
                             percent(static_cast<double>(found.duplicate_count) / examined) + ")" +
                             (found.duplicate_count == 1 ? " is" : " are") +
                             " also in the training set: the evaluation will look better than it is.");
  }
  for (const SetFindings& set : found.sets) {
    const std::int64_t repeated = std::ssize(set.examined) - std::ssize(set.contents);
    if (repeated > 0 && set.spec.vocabulary == 0)
      found.notes.push_back(examples_text(repeated, set) +
                            (repeated == 1 ? " is a duplicate" : " are duplicates") + " of another " +
                            set.name + " example.");
  }
}

void balance(const SetFindings& set, DataFindings& found) {
  const auto& counts = set.class_counts;
  if (counts.empty() || set.examined.empty()) return;
  std::vector<std::string> missing;
  for (std::size_t label = 0; label < counts.size(); ++label) {
    if (counts[label] == 0)
      missing.push_back("Class " + class_text(set, label) + " has no " + set.name + " example.");
  }
  const bool all_seen = std::ssize(set.examined) + set.broken_count == set.examples;
  add_some(is_training(set) && all_seen ? found.problems : found.notes, missing);
  if (is_training(set) && all_seen && missing.size() + 1 == counts.size())
    found.problems.push_back("All training examples are of the same class: there is nothing to learn.");
  const auto largest = std::ranges::max_element(counts);
  const auto smallest =
      std::ranges::min_element(counts, {}, [](std::int64_t count) { return count > 0 ? count : INT64_MAX; });
  if (is_training(set) && *smallest > 0 &&
      static_cast<double>(*largest) > much_imbalance * static_cast<double>(*smallest)) {
    found.problems.push_back("Class " + class_text(set, static_cast<std::size_t>(largest - counts.begin())) +
                             " has " + grouped(*largest) + " training examples and " +
                             class_text(set, static_cast<std::size_t>(smallest - counts.begin())) + " only " +
                             grouped(*smallest) + ": accuracy will say little about the rare one.");
  }
}

void columns(DataFindings& found) {
  const SetFindings& train = found.sets.front();
  std::vector<std::string> missing, constant, apart;
  for (std::size_t i = 0; i < train.columns.size(); ++i) {
    const ColumnFindings& column = train.columns[i];
    const std::string name = "Column " + in_quotes(column.name);
    if (column.missing > many_missing)
      missing.push_back(name + " has no value in " + percent(column.missing) + " of the training rows.");
    if (column.distinct == 0 && column.values.size() == 1 && column.missing == 0)
      constant.push_back(name +
                         " has the same value in every training row: the model learns nothing from it.");
    if (column.distinct == 1 && train.examined.size() > 1)
      constant.push_back(name +
                         " has the same value in every training row: the model learns nothing from it.");
    if (found.sets.size() < 2 || i >= found.sets[1].columns.size() || column.deviation == 0) continue;
    const double shift = std::abs(found.sets[1].columns[i].mean - column.mean) / column.deviation;
    if (shift > far_apart)
      apart.push_back(name + " has a mean in the validation set that differs by " + measured(shift) +
                      " standard deviations.");
  }
  add_some(found.problems, train.remarks);
  add_some(found.problems, missing);
  add_some(found.problems, constant);
  add_some(found.notes, apart);
}

void unknown_categories(const SetFindings& set, DataFindings& found) {
  std::vector<std::string> many, few;
  for (const auto& [column, share] : set.unknown_categories) {
    const std::string text = "Column " + in_quotes(column) + " has a value in " + percent(share) +
                             " of the " + set.name +
                             " rows that is not in the training set: the model sees it as missing.";
    (share > many_missing ? many : few).push_back(text);
  }
  add_some(found.problems, many);
  add_some(found.notes, few);
}

void tokens(const SetFindings& set, DataFindings& found) {
  if (!set.of_tokens || set.tokens == 0) return;
  const double unknown = static_cast<double>(set.unknown_tokens) / static_cast<double>(set.tokens);
  if (set.unknown_tokens > 0) {
    const std::string text =
        percent(unknown) + " of the tokens in the " + set.name + " set are unknown to the vocabulary.";
    (unknown > many_unknown ? found.problems : found.notes).push_back(text);
  }
  if (set.cut == 0) return;
  const double share = static_cast<double>(set.cut) / static_cast<double>(set.examined.size());
  const std::string text =
      grouped(set.cut) + " of the " + set.name + " texts (" + percent(share) + ") have more than " +
      grouped(set.spec.input_shape[0]) +
      " tokens and are cut off; dataset.length = " + std::to_string(set.lengths.rbegin()->first) +
      " keeps them whole.";
  (share > many_cut ? found.problems : found.notes).push_back(text);
}

}  // namespace

void find_problems(DataFindings& found) {
  for (const SetFindings& set : found.sets) {
    found.failed = found.failed || !set.faults.empty();
    for (const ExampleFault& fault : set.faults) found.problems.push_back(fault.text);
    found.notes.insert(found.notes.end(), set.notes.begin(), set.notes.end());
  }
  if (!found.stand_in.empty()) found.problems.push_back(found.stand_in);
  for (const SetFindings& set : found.sets) reading(set, found);
  if (found.sets.size() < 2)
    found.problems.push_back("There is no validation set, so nothing will be evaluated.");
  if (found.sets.size() > 1) leaks(found);
  for (const SetFindings& set : found.sets) balance(set, found);
  columns(found);
  for (const SetFindings& set : found.sets) unknown_categories(set, found);
  for (const SetFindings& set : found.sets) tokens(set, found);
}

}  // namespace runner
