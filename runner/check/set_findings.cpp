#include "runner/check/set_findings.hpp"

#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string_view>
#include <unordered_set>

#include "components/contract/example_random.hpp"

namespace runner {

namespace {

constexpr std::int64_t at_once = 64;
constexpr std::size_t most_broken = 20;
constexpr std::size_t most_distinct = 1000;
constexpr std::int64_t widest_row = 4096;  // wider inputs get no findings per column

struct ColumnSums {
  double sum = 0, squares = 0, least = INFINITY, most = -INFINITY;
  std::int64_t count = 0;
  std::unordered_set<float> distinct = {};

  void add(float value) {
    if (!std::isfinite(value)) return;
    ++count;
    sum += value;
    squares += static_cast<double>(value) * value;
    least = std::min<double>(least, value);
    most = std::max<double>(most, value);
    if (distinct.size() < most_distinct) distinct.insert(value);
  }
  double mean() const { return count > 0 ? sum / static_cast<double>(count) : 0; }
  double deviation() const {
    return count > 0 ? std::sqrt(std::max(0.0, squares / static_cast<double>(count) - mean() * mean())) : 0;
  }
};

std::string_view bytes_of(const torch::Tensor& tensor) {
  return {static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes()};
}

class Examination {
 public:
  Examination(const Split& split, SetFindings& found) : found_(found), details_(split.details()) {
    const DataSpec& data = found_.spec;
    if (data.classes > 0 && data.target_shape.empty() && data.target_type == torch::kInt64)
      found_.class_counts.resize(static_cast<std::size_t>(data.classes));
    found_.of_tokens = data.vocabulary > 0 && data.input_shape.size() == 1;
    if (data.input_shape.size() == 1 && data.input_type == torch::kFloat32 &&
        data.input_shape[0] <= widest_row)
      columns_.resize(static_cast<std::size_t>(std::max<std::int64_t>(data.input_shape[0], 0)));
  }

  void add(const Batch& batch, std::int64_t place, std::int64_t index) {
    found_.examined.push_back(index);
    const torch::Tensor input = batch.input[place].contiguous();
    add_content(batch, input, place, index);
    if (!found_.class_counts.empty()) add_label(batch.target[place].item<std::int64_t>());
    if (input.is_floating_point()) add_numbers(input);
    if (batch.target.is_floating_point() && !batch.target[place].isfinite().all().item<bool>())
      ++found_.targets_not_finite;
    if (const auto ids = batch.extra.find("categories"); ids != batch.extra.end())
      add_categories(ids->second[place]);
    if (found_.of_tokens) add_tokens(batch, input, place, index);
  }

  void finish() {
    if (values_ > 0) {
      found_.mean = sum_ / values_;
      found_.deviation = std::sqrt(std::max(0.0, squares_ / values_ - *found_.mean * *found_.mean));
    }
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const ColumnDetails plain{.name = std::to_string(i)};
      const bool named = details_.columns.size() == columns_.size();
      found_.columns.push_back(in_units(columns_[i], named ? details_.columns[i] : plain));
    }
    found_.unknown_categories = details_.unknown_categories;
    found_.faults = details_.faults;
    found_.remarks = details_.remarks;
    found_.notes = details_.notes;
    for (std::size_t i = 0; i < details_.categories.size(); ++i) {
      const ColumnDetails& column = details_.categories[i];
      ColumnFindings categories{.name = column.name, .missing = column.gaps};
      for (const auto& [id, count] : i < categories_.size() ? categories_[i] : Counts{}) {
        if (id > 0 && id <= std::ssize(column.values))
          categories.values.emplace_back(column.values[static_cast<std::size_t>(id - 1)], count);
      }
      std::ranges::stable_sort(categories.values, std::greater<>(),
                               &std::pair<std::string, std::int64_t>::second);
      found_.columns.push_back(std::move(categories));
    }
  }

 private:
  using Counts = std::map<std::int64_t, std::int64_t>;

  // As the file has it, without the values that replace missing ones.
  ColumnFindings in_units(const ColumnSums& sums, const ColumnDetails& column) const {
    const double scale = column.deviation, fill = (column.fill - column.mean) / scale;
    const double present = column.gaps < 1 ? 1 - column.gaps : 1, gaps = 1 - present;
    const double mean = (sums.mean() - gaps * fill) / present;
    const double square = sums.deviation() * sums.deviation() + sums.mean() * sums.mean();
    const double variance = (square - gaps * fill * fill) / present - mean * mean;
    const bool any = sums.count > 0;
    // The inputs are 32-bit numbers: 199 may come back as 199.000002.
    const bool scaled = column.mean != 0 || scale != 1;
    const double size = std::max({std::abs(scale), std::abs(column.mean), 1e-30});
    const double step = std::pow(10.0, std::floor(std::log10(size)) - 5);
    const auto in_file = [&](double input) {
      const double value = input * scale + column.mean;
      return scaled ? std::round(value / step) * step : value;
    };
    return {.name = column.name,
            .missing = column.gaps,
            .mean = in_file(mean),
            .deviation = std::sqrt(std::max(0.0, variance)) * scale,
            .least = any ? in_file(sums.least) : 0,
            .most = any ? in_file(sums.most) : 0,
            .distinct = std::ssize(sums.distinct),
            .more_distinct =
                sums.distinct.size() == most_distinct || std::ssize(found_.examined) < found_.examples};
  }

  void add_content(const Batch& batch, const torch::Tensor& input, std::int64_t place, std::int64_t index) {
    std::uint64_t content = std::hash<std::string_view>{}(bytes_of(input));
    for (const auto& [name, tensor] : batch.extra) {
      content = scatter(content + std::hash<std::string_view>{}(bytes_of(tensor[place].contiguous())));
    }
    found_.contents.try_emplace(content, index);
    found_.content_of.push_back(content);
  }

  void add_label(std::int64_t label) {
    if (label >= 0 && label < static_cast<std::int64_t>(found_.class_counts.size())) {
      ++found_.class_counts[static_cast<std::size_t>(label)];
    } else {
      ++found_.wrong_labels;
    }
  }

  void add_numbers(const torch::Tensor& input) {
    const torch::Tensor values = input.to(torch::kFloat32);
    const auto* value = values.const_data_ptr<float>();
    double sum = 0, squares = 0;
    for (std::int64_t i = 0; i < values.numel(); ++i) {
      sum += value[i];
      squares += static_cast<double>(value[i]) * value[i];
    }
    if (!std::isfinite(sum)) {
      ++found_.not_finite;
    } else {
      sum_ += sum;
      squares_ += squares;
      values_ += static_cast<double>(values.numel());
    }
    for (std::size_t i = 0; i < columns_.size(); ++i) columns_[i].add(value[i]);
  }

  void add_categories(const torch::Tensor& ids) {
    const torch::Tensor row = ids.contiguous();
    categories_.resize(static_cast<std::size_t>(row.numel()));
    for (std::size_t i = 0; i < categories_.size(); ++i)
      ++categories_[i][row.const_data_ptr<std::int64_t>()[i]];
  }

  void add_tokens(const Batch& batch, const torch::Tensor& input, std::int64_t place, std::int64_t index) {
    const auto mask = batch.extra.find("mask");
    const bool* kept = mask == batch.extra.end() ? nullptr : mask->second[place].const_data_ptr<bool>();
    const auto* token = input.const_data_ptr<std::int64_t>();
    // Before it was cut; what follows is padding.
    const std::int64_t whole =
        details_.untruncated_length ? details_.untruncated_length(index) : input.numel();
    std::int64_t length = 0;
    for (std::int64_t i = 0; i < std::min(input.numel(), kept ? input.numel() : whole); ++i) {
      if (kept && !kept[i]) continue;
      ++length;
      if (details_.unknown_token && token[i] == *details_.unknown_token) ++found_.unknown_tokens;
    }
    found_.tokens += length;
    if (details_.untruncated_length) length = std::max(length, whole);
    ++found_.lengths[length];
    found_.cut += length > input.numel();
  }

  SetFindings& found_;
  SplitDetails details_;
  std::vector<ColumnSums> columns_;
  std::vector<Counts> categories_;  // of each column: how often each id occurs
  double sum_ = 0, squares_ = 0, values_ = 0;
};

ExampleRef reference(std::int64_t index) {
  return {index, example_seed(0, 0, static_cast<std::uint64_t>(index))};
}

// Reads several examples at once; if that fails, one by one, to find the broken ones.
void read_some(const Split& split, const std::vector<ExampleRef>& examples, Batch& batch,
               Examination& examination, SetFindings& found) {
  try {
    split.read(examples, batch, 0);
    for (std::size_t i = 0; i < examples.size(); ++i)
      examination.add(batch, static_cast<std::int64_t>(i), examples[i].index);
    return;
  } catch (const DataError&) {
  }
  for (const ExampleRef& example : examples) {
    try {
      split.read(std::span(&example, 1), batch, 0);
    } catch (const DataError& error) {
      ++found.broken_count;
      if (found.broken.size() < most_broken) found.broken.push_back(found.name + ": " + error.what());
      continue;
    }
    examination.add(batch, 0, example.index);
  }
}

}  // namespace

SetFindings examine_set(const Split& split, std::string name, std::int64_t most) {
  const torch::NoGradGuard no_grad;
  SetFindings found;
  found.name = std::move(name);
  found.spec = split.spec();
  found.examples = split.size();
  Examination examination(split, found);
  Batch batch = split.allocate(at_once, torch::MemoryFormat::Contiguous);
  const std::int64_t count = std::min(most, split.size());
  std::vector<ExampleRef> examples;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t index = i * (split.size() / count) + i * (split.size() % count) / count;
    examples.push_back(reference(index));
    if (std::ssize(examples) < at_once && i + 1 < count) continue;
    read_some(split, examples, batch, examination, found);
    examples.clear();
  }
  examination.finish();
  return found;
}

Batch read_example(const Split& split, std::int64_t index) {
  Batch batch = split.allocate(1, torch::MemoryFormat::Contiguous);
  const ExampleRef example = reference(index);
  split.read(std::span(&example, 1), batch, 0);
  return batch;
}

}  // namespace runner
