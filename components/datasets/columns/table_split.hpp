#pragma once

#include "components/datasets/columns/row_encoder.hpp"
#include "components/datasets/dataset.hpp"

namespace runner {

enum class Categories { ids, one_hot };
constexpr auto describe(std::type_identity<Categories>) {
  return choices(
      choice("ids", Categories::ids,
             "as integers in addition to the input, for models that embed them, such as tabular"),
      choice("one_hot", Categories::one_hot, "as an input of 0 or 1 for each value, for any model"));
}

// What the model gets for one row.
DataSpec table_spec(const TableColumns& columns, Categories how);

// Rows of a table that were already read and encoded.
class TableSplit final : public Split {
 public:
  TableSplit(const TableColumns& columns, Categories how, EncodedRows rows);

  std::int64_t size() const override { return rows_.size; }
  DataSpec spec() const override { return spec_; }
  SplitDetails details() const override { return details_; }
  void read(std::span<const ExampleRef> examples, Batch& batch, std::int64_t first) const override;
  std::optional<std::int64_t> class_of(std::int64_t index) const override {
    if (rows_.labels.empty()) return std::nullopt;
    return rows_.labels[static_cast<std::size_t>(index)];
  }

 private:
  void write_input(std::size_t row, float* input, std::size_t width) const;
  void write_target(std::size_t row, Batch& batch, std::int64_t example) const;

  DataSpec spec_;
  SplitDetails details_;
  EncodedRows rows_;
  bool one_hot_;
  std::vector<std::size_t> values_;  // number of values of each categorical column
  std::size_t numbers_ = 0;          // in each row
};

}  // namespace runner
