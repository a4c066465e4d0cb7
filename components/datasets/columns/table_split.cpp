#include "components/datasets/columns/table_split.hpp"

#include <algorithm>

namespace runner {

namespace {

std::ptrdiff_t at(std::size_t row, std::size_t width) { return static_cast<std::ptrdiff_t>(row * width); }

// In the order of the inputs in a row.
SplitDetails details_of(const TableColumns& columns, Categories how, const EncodedRows& rows) {
  SplitDetails details;
  const auto share = [&](std::size_t column) {
    return column < rows.gaps.size() ? static_cast<double>(rows.gaps[column]) / static_cast<double>(rows.size)
                                     : 0;
  };
  const std::size_t numbers = columns.numeric.size();
  for (std::size_t i = 0; i < numbers; ++i) details.columns.push_back({columns.numeric[i].name, share(i)});
  for (const NumericColumn& column : columns.numeric) {
    if (column.indicator) details.columns.push_back({column.name + " is missing"});
  }
  for (std::size_t i = 0; i < columns.categorical.size(); ++i) {
    const auto& [name, values] = columns.categorical[i];
    if (i < rows.unknown.size() && rows.unknown[i] > 0)
      details.unknown_categories.emplace_back(
          name, static_cast<double>(rows.unknown[i]) / static_cast<double>(rows.size));
    if (how == Categories::ids) details.categories.push_back({name, share(numbers + i)});
    if (how == Categories::one_hot) {
      for (const std::string& value : values)
        details.columns.push_back({name + " = " + value, share(numbers + i)});
    }
  }
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
