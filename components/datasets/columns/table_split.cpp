#include "components/datasets/columns/table_split.hpp"

#include <algorithm>
#include <map>

#include "registry/base/wording.hpp"

namespace runner {

namespace {

std::ptrdiff_t at(std::size_t row, std::size_t width) { return static_cast<std::ptrdiff_t>(row * width); }

// Whether each value occurs with one class alone, and each class with one value.
template <class Value>
bool one_to_one(const std::vector<Value>& values, const std::vector<std::int32_t>& labels) {
  std::map<Value, std::int32_t> label_of;
  std::map<std::int32_t, Value> value_of;
  for (std::size_t row = 0; row < labels.size(); ++row) {
    if (label_of.try_emplace(values[row], labels[row]).first->second != labels[row]) return false;
    if (value_of.try_emplace(labels[row], values[row]).first->second != values[row]) return false;
  }
  return label_of.size() > 1;
}

// Whether one is a multiple of the other, up to a constant and rounding.
bool proportional(const std::vector<float>& one, const std::vector<float>& other) {
  double sums[5] = {};
  for (std::size_t row = 0; row < one.size(); ++row) {
    const double x = one[row], y = other[row];
    const double terms[] = {x, y, x * x, y * y, x * y};
    for (std::size_t i = 0; i < 5; ++i) sums[i] += terms[i] / static_cast<double>(one.size());
  }
  const double together = sums[4] - sums[0] * sums[1], of_one = sums[2] - sums[0] * sums[0],
               of_other = sums[3] - sums[1] * sums[1];
  constexpr double rounding = 1e-9;
  return of_one > 0 && of_other > 0 && together * together > (1 - rounding) * of_one * of_other;
}

// Columns that are the target in other words, and columns that name the rows.
void add_remarks(const TableColumns& columns, const EncodedRows& rows, std::vector<std::string>& remarks) {
  constexpr std::int64_t too_few_to_tell = 10;
  if (rows.size < too_few_to_tell) return;
  const auto size = static_cast<std::size_t>(rows.size);
  const auto is_target = [&](const std::string& name) {
    remarks.push_back("Column " + in_quotes(name) + " is the target " + in_quotes(columns.target) +
                      " in other words: the model learns nothing else. Name it in dataset.ignore if "
                      "predictions will not have it.");
  };
  const std::size_t width = rows.numbers.size() / size;
  for (std::size_t i = 0; i < columns.numeric.size(); ++i) {
    std::vector<float> numbers;
    for (std::size_t row = 0; row < size; ++row) numbers.push_back(rows.numbers[row * width + i]);
    const bool same = rows.labels.empty() ? !rows.values.empty() && proportional(numbers, rows.values)
                                          : one_to_one(numbers, rows.labels);
    if (same) is_target(columns.numeric[i].name);
  }
  const std::size_t categories = columns.categorical.size();
  for (std::size_t i = 0; i < categories; ++i) {
    std::vector<std::int32_t> ids;
    for (std::size_t row = 0; row < size; ++row) ids.push_back(rows.ids[row * categories + i]);
    if (!rows.labels.empty() && one_to_one(ids, rows.labels)) is_target(columns.categorical[i].name);
    if (std::ssize(columns.categorical[i].values) >= rows.size && rows.unknown[i] == 0 &&
        rows.gaps[columns.numeric.size() + i] == 0)
      remarks.push_back("Column " + in_quotes(columns.categorical[i].name) +
                        " has a different value in every row, as names and numbers of rows have: nothing can "
                        "be learnt from it. Name "
                        "it in dataset.ignore.");
  }
}

// In the order of the inputs in a row.
SplitDetails details_of(const TableColumns& columns, Categories how, const EncodedRows& rows) {
  SplitDetails details;
  const auto share = [&](std::size_t column) {
    return column < rows.gaps.size() ? static_cast<double>(rows.gaps[column]) / static_cast<double>(rows.size)
                                     : 0;
  };
  const std::size_t numbers = columns.numeric.size();
  for (std::size_t i = 0; i < numbers; ++i) {
    const NumericColumn& column = columns.numeric[i];
    details.columns.push_back({column.name, share(i), column.mean, column.deviation, column.fill});
  }
  for (const NumericColumn& column : columns.numeric) {
    if (column.indicator) details.columns.push_back({column.name + " is missing"});
  }
  for (std::size_t i = 0; i < columns.categorical.size(); ++i) {
    const auto& [name, values] = columns.categorical[i];
    if (i < rows.unknown.size() && rows.unknown[i] > 0)
      details.unknown_categories.emplace_back(
          name, static_cast<double>(rows.unknown[i]) / static_cast<double>(rows.size));
    if (how == Categories::ids)
      details.categories.push_back({.name = name, .gaps = share(numbers + i), .values = values});
    if (how == Categories::one_hot) {
      for (const std::string& value : values)
        details.columns.push_back({.name = name + " = " + value, .gaps = share(numbers + i)});
    }
  }
  add_remarks(columns, rows, details.remarks);
  return details;
}

}  // namespace

DataSpec table_spec(const TableColumns& columns, Categories how) {
  std::int64_t numbers = static_cast<std::int64_t>(columns.numeric.size());
  DataSpec spec;
  for (const NumericColumn& column : columns.numeric) numbers += column.indicator;
  for (const CategoricalColumn& column : columns.categorical) {
    const auto values = static_cast<std::int64_t>(column.values.size());
    if (how == Categories::ids) spec.categories.push_back(values + 1);
    if (how == Categories::one_hot) numbers += values;
  }
  spec.input_shape = {numbers};
  spec.classes = static_cast<std::int64_t>(columns.classes.size());
  spec.class_names = columns.classes;
  if (columns.classes.empty()) spec.target_type = torch::kFloat32;
  spec.target_mean = columns.target_mean;
  spec.target_deviation = columns.target_deviation;
  return spec;
}

TableSplit::TableSplit(const TableColumns& columns, Categories how, EncodedRows rows)
    : spec_(table_spec(columns, how)),
      details_(details_of(columns, how, rows)),
      rows_(std::move(rows)),
      one_hot_(how == Categories::one_hot) {
  for (const CategoricalColumn& column : columns.categorical) values_.push_back(column.values.size());
  if (rows_.size > 0) numbers_ = rows_.numbers.size() / static_cast<std::size_t>(rows_.size);
}

void TableSplit::read(std::span<const ExampleRef> examples, Batch& batch, std::int64_t first) const {
  const auto width = static_cast<std::size_t>(spec_.input_shape[0]);
  float* input = batch.input.data_ptr<float>() + static_cast<std::size_t>(first) * width;
  const bool categories = !spec_.categories.empty();
  std::int64_t* ids =
      categories ? batch.extra.at("categories").data_ptr<std::int64_t>() + first * std::ssize(values_)
                 : nullptr;
  for (const ExampleRef& example : examples) {
    const auto row = static_cast<std::size_t>(example.index);
    write_input(row, input, width);
    input += width;
    if (categories) ids = std::copy_n(rows_.ids.begin() + at(row, values_.size()), values_.size(), ids);
    write_target(row, batch, first++);
  }
}

void TableSplit::write_input(std::size_t row, float* input, std::size_t width) const {
  float* rest = std::copy_n(rows_.numbers.begin() + at(row, numbers_), numbers_, input);
  if (!one_hot_) return;
  std::fill(rest, input + width, 0.0f);
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const std::int32_t id = rows_.ids[row * values_.size() + i];
    if (id > 0) rest[id - 1] = 1.0f;
    rest += values_[i];
  }
}

void TableSplit::write_target(std::size_t row, Batch& batch, std::int64_t example) const {
  if (!rows_.labels.empty()) batch.target.data_ptr<std::int64_t>()[example] = rows_.labels[row];
  if (!rows_.values.empty()) batch.target.data_ptr<float>()[example] = rows_.values[row];
}

}  // namespace runner
