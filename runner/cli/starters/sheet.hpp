#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "components/datasets/read/number.hpp"

namespace runner::cli {

struct Column {
  std::string name;
  std::map<std::string, std::int64_t, std::less<>> values = {};
  std::int64_t numbers = 0, filled = 0;
  std::int64_t fractions = 0;                 // how many of the numbers are not whole
  std::optional<NumberFormat> notation = {};  // of those that are not written like 1234.5
  std::size_t letters = 0;                    // bytes of all values

  bool numeric() const { return filled > 0 && numbers == filled; }
};

// How to read a table file, as guessed from its first rows, and what its columns hold.
struct Sheet {
  std::string separator;  // as dataset.separator names it
  bool header = true;
  std::vector<Column> columns = {};

  NumberFormat notation() const;  // of all numeric columns; what they contradict each other in, `csv` reports
};

// What is known about the file; the rest is guessed.
struct SheetFormat {
  std::int64_t skip_lines = 0;
  std::string comment = {};
  std::optional<bool> header = {};
};

// Guesses separator, header and notation of numbers from the first rows.
Sheet look_at(const std::filesystem::path& file, const SheetFormat& format = {});

}  // namespace runner::cli
