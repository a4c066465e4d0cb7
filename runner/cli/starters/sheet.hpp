#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "components/datasets/read/notation.hpp"

namespace runner::cli {

struct Column {
  std::string name;
  std::map<std::string, std::int64_t, std::less<>> values = {};
  std::int64_t filled = 0;
  std::int64_t marks = 0;        // values that mean a missing one, if the others are numbers
  ColumnNotation notation = {};  // of the others
  std::int64_t fractions = 0;    // how many of the numbers are not whole
  std::size_t letters = 0;       // bytes of all values

  bool numeric() const { return notation.numeric() && notation.values() + marks == filled; }
};

// How to read a table file, as guessed from its first rows, and what its columns hold.
struct Sheet {
  std::string separator;  // as dataset.separator names it
  bool header = true;
  bool json = false;
  std::vector<Column> columns = {};
  NumberFormat numbers = {};    // of all numeric columns; what they contradict each other in, `csv` reports
  std::string ambiguous = {};   // a number that another notation reads as another one
  std::int64_t skip_lines = 0;  // a title before the table
  std::int64_t rows = 0;        // about how many the file has
};

// What is known about the file; the rest is guessed.
struct SheetFormat {
  std::optional<std::int64_t> skip_lines = {};
  std::string comment = {};
  std::optional<bool> header = {};
};

// Guesses separator, header and notation of numbers from the first rows.
Sheet look_at(const std::filesystem::path& file, const SheetFormat& format = {});

}  // namespace runner::cli
