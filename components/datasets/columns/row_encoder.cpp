#include "components/datasets/columns/row_encoder.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "components/datasets/columns/learn_columns.hpp"
#include "components/datasets/read/number.hpp"
#include "registry/base/log.hpp"
#include "registry/base/wording.hpp"

namespace runner {

namespace {

// A large number divided by a small deviation may be too large for 32 bits.
float standardised(const RowReader& row, std::size_t column, double value, double mean, double deviation,
                   NumberUse use = NumberUse::input) {
  const auto scaled = static_cast<float>((value - mean) / deviation);
  if (!std::isfinite(scaled)) {
    row.fail(column, log::format("{} is too far from the values of the training set (mean {}, standard "
                                 "deviation {}). {}",
                                 in_quotes(row.values()[column]), mean, deviation, number_remedy(use)));
  }
  return scaled;
}

}  // namespace

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

void RowEncoder::add(const RowReader& row, EncodedRows& rows) const {
  const auto no_number = [&](std::size_t i) { return format_.is_missing_number(row.values()[numeric_[i]]); };
  rows.gaps.resize(numeric_.size() + categorical_.size());
  for (std::size_t i = 0; i < numeric_.size(); ++i) {
    const NumericColumn& column = columns_.numeric[i];
    const bool missing = no_number(i);
    rows.gaps[i] += missing;
    const double value = missing ? column.fill : finite_number(row, numeric_[i], format_.numbers);
    rows.numbers.push_back(standardised(row, numeric_[i], value, column.mean, column.deviation));
  }
  for (std::size_t i = 0; i < numeric_.size(); ++i) {
    if (columns_.numeric[i].indicator) rows.numbers.push_back(no_number(i) ? 1.0f : 0.0f);
  }
  rows.unknown.resize(categorical_.size());
  for (std::size_t i = 0; i < categorical_.size(); ++i) {
    const auto id = ids_[i].find(row.values()[categorical_[i]]);
    const bool known = id != ids_[i].end(), missing = format_.is_missing(row.values()[categorical_[i]]);
    rows.ids.push_back(known ? id->second : 0);
    rows.gaps[numeric_.size() + i] += missing;
    rows.unknown[i] += !known && !missing;
  }
  if (target_) add_target(row, rows);
  ++rows.size;
}

void RowEncoder::add_target(const RowReader& row, EncodedRows& rows) const {
  const std::string_view value = row.values()[*target_];
  if (format_.is_missing(value)) {
    row.fail(*target_,
             value.empty()
                 ? "the target is missing. Fill it in, or remove the row"
                 : in_quotes(value) +
                       " counts as missing. Fill in the target or remove the "
                       "row; if it is a value, list what is missing in dataset.missing, such as [\"\"]");
  }
  if (columns_.classes.empty()) {
    const double number = finite_number(row, *target_, format_.numbers, NumberUse::target);
    return rows.values.push_back(standardised(row, *target_, number, columns_.target_mean,
                                              columns_.target_deviation, NumberUse::target));
  }
  const auto label = labels_.find(class_in(row, *target_, trim_target_));
  if (label == labels_.end()) fail_unknown(row, value);
  rows.labels.push_back(label->second);
}

void RowEncoder::fail_unknown(const RowReader& row, std::string_view value) const {
  row.fail(*target_, in_quotes(value) + " is a class that the training set does not have (" +
                         listed(columns_.classes) + "). " + remedy_for_unknown(value));
}

std::string RowEncoder::remedy_for_unknown(std::string_view value) const {
  const auto number = parse_number(value);
  for (const std::string& name : columns_.classes) {
    if (number && parse_number(name) == number)
      return "The two files write the same number differently, " + in_quotes(name) +
             " in the training set: write it in the same way in both";
  }
  for (const std::string& name : columns_.classes) {
    if (!value.starts_with(name)) continue;
    const std::string_view ending = value.substr(name.size());
    const bool part_of_a_class = std::ranges::any_of(columns_.classes, [&](const std::string& one) {
      return without_ending(one, ending).size() < one.size();
    });
    if (!has_letters_or_digits(ending) && !part_of_a_class)
      return "Set dataset.trim_target = " + in_quotes(ending) + " if that is not part of it";
  }
  return "Add examples of it to the training set, or choose another dataset.split_seed";
}

EncodedRows encode(const TablePart& part, const TableColumns& columns, const std::string& trim_target) {
  RowEncoder encoder(columns, part.format(), trim_target);
  encoder.begin(part.columns(), part.name(), /*with_target=*/true);
  EncodedRows rows;
  part.each([&](const RowReader& row) { encoder.add(row, rows); });
  return rows;
}

}  // namespace runner
