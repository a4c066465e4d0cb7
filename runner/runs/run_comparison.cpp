#include "runner/runs/run_comparison.hpp"

#include <algorithm>

#include "registry/files/read_json.hpp"
#include "runner/checkpoint/manifest.hpp"
#include "runner/resolve/data_files.hpp"
#include "runner/terminal/format.hpp"

namespace runner {

namespace {

using Json = nlohmann::ordered_json;
using Facts = std::vector<std::pair<std::string, std::string>>;  // of one run

// One row for each key, in the order of their first appearance.
ComparedSection section_of(std::string title, const std::vector<Facts>& runs) {
  ComparedSection section{std::move(title)};
  for (std::size_t run = 0; run < runs.size(); ++run) {
    for (const auto& [key, value] : runs[run]) {
      auto row = std::ranges::find(section.rows, key, &ComparedRow::key);
      if (row == section.rows.end()) {
        section.rows.push_back({key, std::vector<std::string>(runs.size())});
        row = std::prev(section.rows.end());
      }
      row->values[run] = value;
    }
  }
  return section;
}

std::string text_of(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

Facts facts_of(const Json& object) {
  Facts facts;
  if (!object.is_object()) return facts;
  for (const auto& [key, value] : object.items()) facts.emplace_back(key, text_of(value));
  return facts;
}

Facts results_of(const RunRecord& run) {
  const RunSummaryLine line = summarize(run);
  Facts facts{{"status", run.status},
              {"steps", grouped(line.steps)},
              {"epochs", epoch_text(line.epochs)},
              {"duration", duration_text(line.seconds)}};
  if (!run.message.empty()) facts.insert(facts.begin() + 1, {"reason", run.message});
  if (line.best) facts.emplace_back("best " + line.best->metric, measured(line.best->at.value));
  for (const auto& [name, value] : line.last) facts.emplace_back("last " + name, measured(value));
  return facts;
}

Facts data_of(const RunRecord& run) {
  Facts facts = facts_of(read_ordered_json_file_or_null(run.folder / "data_spec.json"));
  if (!run.stand_in.empty())
    facts.insert(facts.begin(), {"stand-in", run.stand_in.substr(0, run.stand_in.find('\n'))});
  for (const auto& [key, file] : read_data_files(run.folder / "data.json"))
    facts.emplace_back(key, grouped(static_cast<std::int64_t>(file.size)) +
                                (file.folder ? " files" : " bytes") + ", sha256 " +
                                file.sha256.substr(0, 12));
  return facts;
}

// A run without a result has those of its newest checkpoint.
Facts versions_of(const RunRecord& run) {
  if (const auto found = run.result.find("versions"); found != run.result.end()) return facts_of(*found);
  try {
    const auto versions = read_summary(run.folder / "checkpoints/latest").versions;
    return {versions.begin(), versions.end()};
  } catch (const std::exception&) {
    return {};
  }
}

}  // namespace

bool ComparedRow::differs() const {
  return std::ranges::any_of(values, [&](const std::string& value) { return value != values.front(); });
}

std::vector<ComparedSection> compare_runs(const std::vector<RunRecord>& runs) {
  const auto section = [&](std::string title, const auto& facts) {
    std::vector<Facts> all;
    for (const RunRecord& run : runs) all.push_back(facts(run));
    return section_of(std::move(title), all);
  };
  return {section("results", results_of),
          section("recipe", [](const RunRecord& run) { return run.settings(); }), section("data", data_of),
          section("versions", versions_of)};
}

}  // namespace runner
