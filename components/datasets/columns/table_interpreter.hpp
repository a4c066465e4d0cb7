#pragma once

#include "components/datasets/columns/table_split.hpp"

namespace runner {

// An input is a file of rows, or one row with the values in the order of the training file; neither needs the
// target. A file gives as many examples as it has rows.
class TableInterpreter final : public Interpreter {
 public:
  TableInterpreter(TableColumns columns, TableFormat format, Categories how)
      : columns_(std::move(columns)), format_(std::move(format)), how_(how) {}

  Batch read(std::span<const std::string> inputs) const override;

 private:
  TableFormat format_for(const std::string& file) const;
  void add_file(const std::string& file, EncodedRows& rows) const;
  void add_row(const std::string& text, EncodedRows& rows) const;
  void add_single(RowReader& row, const std::string& text, EncodedRows& rows) const;

  TableColumns columns_;
  TableFormat format_;
  Categories how_;
};

}  // namespace runner
