#include <algorithm>
#include <nlohmann/json.hpp>

#include "runner/examine/data_findings.hpp"

namespace runner {

namespace {

using Json = nlohmann::ordered_json;

std::string shape_text(const std::vector<std::int64_t>& shape, torch::Dtype type) {
  std::string text;
  for (const std::int64_t size : shape) text += (text.empty() ? "" : " \u00d7 ") + std::to_string(size);
  const std::string number = std::string(c10::isFloatingType(type) ? "float" : "int") +
                             std::to_string(8 * c10::elementSize(type));  // float32, int64
  return (text.empty() ? "one" : text) + " " + number;
}

Json to_json(const PartFindings& part) {
  Json json{{"name", part.name},
            {"examples", part.examples},
            {"examined", std::ssize(part.examined) + part.broken_count},
            {"broken", part.broken_count},
            {"input", shape_text(part.spec.input_shape, part.spec.input_type)},
            {"target", shape_text(part.spec.target_shape, part.spec.target_type)}};
  if (part.mean) json["mean"] = *part.mean;
  if (part.deviation) json["deviation"] = *part.deviation;
  if (part.tokens > 0) {
    json["tokens"] = part.tokens;
    json["unknown_tokens"] = part.unknown_tokens;
  }
  return json;
}

Json classes_of(const DataFindings& found) {
  Json rows = Json::array();
  const PartFindings& train = found.parts.front();
  for (std::size_t i = 0; i < train.class_counts.size(); ++i) {
    const auto& names = train.spec.class_names;
    Json row{{"name", i < names.size() ? names[i] : std::to_string(i)}};
    for (const PartFindings& part : found.parts) {
      if (i < part.class_counts.size()) row[part.name] = part.class_counts[i];
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

Json columns_of(const DataFindings& found) {
  Json rows = Json::array();
  for (std::size_t i = 0; i < found.parts[0].columns.size(); ++i) {
    const ColumnFindings& column = found.parts[0].columns[i];
    Json row{{"name", column.name},   {"mean", column.mean}, {"deviation", column.deviation},
             {"least", column.least}, {"most", column.most}, {"distinct", column.distinct},
             {"gaps", column.gaps}};
    if (found.parts.size() > 1 && i < found.parts[1].columns.size())
      row["eval_mean"] = found.parts[1].columns[i].mean;
    rows.push_back(std::move(row));
  }
  return rows;
}

// How long the texts are, in at most ten steps.
Json lengths_of(const PartFindings& part) {
  const auto& counts = part.lengths;
  if (counts.empty() || part.examined.empty()) return nullptr;
  const auto there = [](std::int64_t count) { return count > 0; };
  const auto first = std::ranges::find_if(counts, there) - counts.begin();
  const auto last = std::find_if(counts.rbegin(), counts.rend(), there).base() - counts.begin() - 1;
  std::int64_t seen = 0, median = first;
  for (auto i = first; 2 * seen < std::ssize(part.examined) && i <= last; ++i) {
    seen += counts[static_cast<std::size_t>(i)];
    median = i;
  }
  const std::int64_t width = std::max<std::int64_t>(1, (last - first + 10) / 10);
  Json buckets = Json::array();
  for (auto begin = first; begin <= last; begin += width) {
    std::int64_t count = 0;
    const auto end = std::min<std::int64_t>(begin + width, last + 1);
    for (auto i = begin; i < end; ++i) count += counts[static_cast<std::size_t>(i)];
    const std::string name =
        end - begin > 1 ? std::to_string(begin) + " to " + std::to_string(end - 1) : std::to_string(begin);
    buckets.push_back({name, count});
  }
  return {{"least", first}, {"most", last}, {"median", median}, {"buckets", std::move(buckets)}};
}

}  // namespace

Json to_json(const DataFindings& found) {
  Json json{{"title", found.dataset},
            {"stand_in", found.stand_in},
            {"problems", found.problems},
            {"notes", found.notes},
            {"parts", Json::array()},
            {"classes", classes_of(found)},
            {"columns", columns_of(found)},
            {"lengths", lengths_of(found.parts.front())},
            {"duplicate_count", found.duplicate_count},
            {"duplicates", Json::array()},
            {"broken", Json::array()},
            {"samples", Json::array()},
            {"texts", Json::array()}};
  for (const PartFindings& part : found.parts) {
    json["parts"].push_back(to_json(part));
    for (const std::string& text : part.broken) json["broken"].push_back(text);
  }
  for (const auto& [train, eval, label] : found.duplicates)
    json["duplicates"].push_back({train, eval, label});
  for (const auto& [label, image, text] : found.samples) {
    if (!image.empty()) json["samples"].push_back({{"label", label}, {"image", image}});
    if (!text.empty()) json["texts"].push_back({{"label", label}, {"text", text}});
  }
  return json;
}

}  // namespace runner
