#include <algorithm>
#include <nlohmann/json.hpp>

#include "registry/base/wording.hpp"
#include "runner/check/data_findings.hpp"

namespace runner {

namespace {

using Json = nlohmann::ordered_json;

std::string shape_text(const std::vector<std::int64_t>& shape, torch::Dtype type) {
  std::vector<std::string> sizes;
  for (const std::int64_t size : shape) sizes.push_back(std::to_string(size));
  const std::string number = std::string(c10::isFloatingType(type) ? "float" : "int") +
                             std::to_string(8 * c10::elementSize(type));  // float32, int64
  return (sizes.empty() ? "scalar" : joined(sizes, " \u00d7 ")) + " " + number;
}

Json to_json(const SetFindings& set) {
  Json json{{"name", set.name},
            {"examples", set.examples},
            {"examined", std::ssize(set.examined) + set.broken_count},
            {"broken", set.broken_count},
            {"input", shape_text(set.spec.input_shape, set.spec.input_type)},
            {"target", shape_text(set.spec.target_shape, set.spec.target_type)}};
  if (set.mean) json["mean"] = *set.mean;
  if (set.deviation) json["std"] = *set.deviation;
  if (set.tokens > 0) {
    json["tokens"] = set.tokens;
    json["unknown_tokens"] = set.unknown_tokens;
  }
  for (const auto& [column, share] : set.unknown_categories) json["unknown_categories"][column] = share;
  return json;
}

Json classes_of(const DataFindings& found) {
  Json rows = Json::array();
  const SetFindings& train = found.sets.front();
  for (std::size_t i = 0; i < train.class_counts.size(); ++i) {
    Json row{{"name", train.spec.class_name(static_cast<std::int64_t>(i))}};
    for (const SetFindings& set : found.sets) {
      if (i < set.class_counts.size()) row[set.name] = set.class_counts[i];
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

Json columns_of(const DataFindings& found) {
  constexpr std::size_t most_values = 20;  // of a column of categories
  Json rows = Json::array();
  for (std::size_t i = 0; i < found.sets[0].columns.size(); ++i) {
    const ColumnFindings& column = found.sets[0].columns[i];
    Json row{{"name", column.name}};
    if (column.distinct > 0) {  // numbers, not categories
      row.update({{"mean", column.mean},
                  {"std", column.deviation},
                  {"min", column.least},
                  {"max", column.most},
                  {column.more_distinct ? "distinct_at_least" : "distinct", column.distinct}});
      if (found.sets.size() > 1 && i < found.sets[1].columns.size())
        row["validation_mean"] = found.sets[1].columns[i].mean;
    }
    if (!column.values.empty()) {
      row["distinct"] = column.values.size();
      for (std::size_t value = 0; value < std::min(column.values.size(), most_values); ++value)
        row["values"].push_back({column.values[value].first, column.values[value].second});
    }
    row["missing"] = column.missing;
    rows.push_back(std::move(row));
  }
  return rows;
}

// A histogram of text lengths with at most ten buckets.
Json lengths_of(const SetFindings& set) {
  const auto& counts = set.lengths;
  if (counts.empty() || set.examined.empty()) return nullptr;
  const std::int64_t first = counts.begin()->first, last = counts.rbegin()->first;
  std::int64_t seen = 0, median = first;
  for (auto one = counts.begin(); one != counts.end() && 2 * seen < std::ssize(set.examined); ++one) {
    seen += one->second;
    median = one->first;
  }
  const std::int64_t width = std::max<std::int64_t>(1, (last - first + 10) / 10);
  Json buckets = Json::array();
  for (auto begin = first; begin <= last; begin += width) {
    std::int64_t count = 0;
    const auto end = std::min<std::int64_t>(begin + width, last + 1);
    for (auto one = counts.lower_bound(begin); one != counts.end() && one->first < end; ++one)
      count += one->second;
    const std::string name =
        end - begin > 1 ? std::to_string(begin) + " to " + std::to_string(end - 1) : std::to_string(begin);
    buckets.push_back({name, count});
  }
  return {{"min", first}, {"max", last}, {"median", median}, {"buckets", std::move(buckets)}};
}

}  // namespace

Json to_json(const ShownTokens& example) {
  return {
      {"place", example.place}, {"ids", example.ids}, {"trained", example.trained}, {"text", example.texts}};
}

Json to_json(const DataFindings& found) {
  Json json{{"title", found.dataset},
            {"stand_in", found.stand_in},
            {"problems", found.problems},
            {"notes", found.notes},
            {"sets", Json::array()},
            {"classes", classes_of(found)},
            {"columns", columns_of(found)},
            {"lengths", lengths_of(found.sets.front())},
            {"duplicate_count", found.duplicate_count},
            {"duplicates", Json::array()},
            {"broken", Json::array()},
            {"samples", Json::array()},
            {"texts", Json::array()}};
  for (const SetFindings& set : found.sets) {
    json["sets"].push_back(to_json(set));
    for (const std::string& text : set.broken) json["broken"].push_back(text);
  }
  for (const auto& [train, eval, label] : found.duplicates)
    json["duplicates"].push_back({train, eval, label});
  for (const auto& [label, image, text] : found.examples) {
    if (!image.empty()) json["samples"].push_back({{"label", label}, {"image", image}});
    if (!text.empty()) json["texts"].push_back({{"label", label}, {"text", text}});
  }
  for (const ShownTokens& example : found.tokens) json["tokens"].push_back(to_json(example));
  return json;
}

}  // namespace runner
