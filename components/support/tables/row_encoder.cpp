#include "components/support/tables/row_encoder.hpp"

#include <unordered_map>

#include "components/support/tables/learn_columns.hpp"
#include "components/support/tables/number.hpp"
#include "registry/wording.hpp"

namespace runner {

RowEncoder::RowEncoder(const TableColumns& columns, const TableFormat& format, std::string trim_target)
    : columns_(columns), format_(format), trim_target_(std::move(trim_target)) {
  const auto numbered = [](const std::vector<std::string>& values, std::int32_t first) {
    Ids ids;
    for (const std::string& value : values) ids.emplace(value, first++);
    return ids;
  };
  for (const CategoricalColumn& column : columns_.categorical) ids_.push_back(numbered(column.values, 1));
  labels_ = numbered(columns_.classes, 0);
}

void RowEncoder::begin(const std::vector<std::string>& given, const std::string& file, bool with_target) {
  numeric_.clear();
  categorical_.clear();
  std::unordered_map<std::string_view, std::size_t> places;  // there are tables with 100,000 columns
  for (std::size_t i = 0; i < given.size(); ++i) places.emplace(given[i], i);
  const auto find = [&](const std::string& name) {
    const auto found = places.find(name);
    return found != places.end() ? found->second : find_column(given, name, file);  // throws: it is missing
  };
  for (const NumericColumn& column : columns_.numeric) numeric_.push_back(find(column.name));
  for (const CategoricalColumn& column : columns_.categorical) categorical_.push_back(find(column.name));
  target_.reset();
  if (with_target) target_ = find(columns_.target);
}

void RowEncoder::add(const CsvReader& row, EncodedRows& rows) const {
  const auto missing = [&](std::size_t column) { return format_.is_missing(row.values()[column]); };
  rows.gaps.resize(numeric_.size() + categorical_.size());
  for (std::size_t i = 0; i < rows.gaps.size(); ++i) {
    rows.gaps[i] += missing(i < numeric_.size() ? numeric_[i] : categorical_[i - numeric_.size()]);
  }
  for (std::size_t i = 0; i < numeric_.size(); ++i) {
    const NumericColumn& column = columns_.numeric[i];
    const double value =
        missing(numeric_[i]) ? column.fill : finite_number(row, numeric_[i], format_.numbers);
    rows.numbers.push_back(static_cast<float>((value - column.mean) / column.deviation));
  }
  for (std::size_t i = 0; i < numeric_.size(); ++i) {
    if (columns_.numeric[i].indicator) rows.numbers.push_back(missing(numeric_[i]) ? 1.0f : 0.0f);
  }
  for (std::size_t i = 0; i < categorical_.size(); ++i) {
    const auto id = ids_[i].find(row.values()[categorical_[i]]);
    rows.ids.push_back(id == ids_[i].end() ? 0 : id->second);
  }
  if (target_) add_target(row, rows);
  ++rows.size;
}

void RowEncoder::add_target(const CsvReader& row, EncodedRows& rows) const {
  const std::string_view value = row.values()[*target_];
  if (format_.is_missing(value)) {
    row.fail(*target_, "the target is missing. Fill it in, or remove the row");
  }
  if (columns_.classes.empty()) {
    const double number = finite_number(row, *target_, format_.numbers);
    return rows.values.push_back(
        static_cast<float>((number - columns_.target_mean) / columns_.target_deviation));
  }
  const auto label = labels_.find(without_ending(value, trim_target_));
  if (label == labels_.end()) fail_unknown(row, value);
  rows.labels.push_back(label->second);
}

void RowEncoder::fail_unknown(const CsvReader& row, std::string_view value) const {
  std::string remedy = "Add examples of it to the training set, or choose another dataset.split_seed";
  for (const std::string& name : columns_.classes) {
    if (value.starts_with(name))
      remedy =
          "Set dataset.trim_target = " + in_quotes(value.substr(name.size())) + " if that is not part of it";
  }
  row.fail(*target_, in_quotes(value) + " is a class that the training set does not have (" +
                         listed(columns_.classes) + "). " + remedy);
}

EncodedRows encode(const TablePart& part, const TableColumns& columns, const std::string& trim_target) {
  RowEncoder encoder(columns, part.format(), trim_target);
  encoder.begin(part.columns(), part.name(), /*with_target=*/true);
  EncodedRows rows;
  part.each([&](const CsvReader& row) { encoder.add(row, rows); });
  return rows;
}

}  // namespace runner
