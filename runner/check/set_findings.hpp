#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "components/datasets/dataset.hpp"

namespace runner {

struct ColumnFindings {
  std::string name;
  double missing = 0;                                   // share of the examples without a value
  double mean = 0, deviation = 0, least = 0, most = 0;  // in the units of the file
  std::int64_t distinct = 0;                            // different values; 0: these are no numbers
  // Of categories: how many examples have each value, the most frequent first.
  std::vector<std::pair<std::string, std::int64_t>> values = {};
  bool more_distinct = false;  // there may be more: they are counted up to a limit, in the examples examined
};

// The findings from reading one set of examples.
struct SetFindings {
  std::string name;  // "training" or "validation"
  DataSpec spec;
  std::int64_t examples = 0;
  std::vector<std::int64_t> examined;  // indices of those that could be read
  std::vector<std::string> broken;     // error messages of the first that could not
  std::int64_t broken_count = 0;
  std::vector<std::int64_t> class_counts;   // by class; empty: targets are not classes
  std::vector<std::string> remarks, notes;  // as in SplitDetails
  std::int64_t wrong_labels = 0;            // labels that are not a class
  std::int64_t not_finite = 0;              // examples with an input that is not a finite number
  std::int64_t targets_not_finite = 0;      // the same for targets
  std::optional<double> mean, deviation;    // of all inputs together
  std::vector<ColumnFindings> columns;      // if the input is a row of numbers
  std::vector<std::pair<std::string, double>> unknown_categories;  // as in SplitDetails
  std::vector<ExampleFault> faults;                                // as in SplitDetails
  bool of_tokens = false;
  std::map<std::int64_t, std::int64_t>
      lengths;           // number of examples by length in tokens, before they were truncated
  std::int64_t cut = 0;  // examples that were
  std::int64_t tokens = 0, unknown_tokens = 0;
  std::unordered_map<std::uint64_t, std::int64_t>
      contents;                           // the first example with each content, by its hash
  std::vector<std::uint64_t> content_of;  // hash of each examined example
};

// Reads at most `most` examples, evenly spaced over the set.
SetFindings examine_set(const Split& split, std::string name, std::int64_t most);

// A single example, as the first epoch of seed 0 has it.
Batch read_example(const Split& split, std::int64_t index);

}  // namespace runner
