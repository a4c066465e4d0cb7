#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "registry/base/byte_size.hpp"
#include "registry/base/wording.hpp"
#include "registry/files/folders.hpp"
#include "runner/checkpoint/checkpoint_store.hpp"
#include "runner/cli/commands.hpp"
#include "runner/cli/options/output_width.hpp"
#include "runner/describe/json.hpp"
#include "runner/predict/load_run.hpp"
#include "runner/terminal/format.hpp"
#include "runner/terminal/text.hpp"
#include "runner/train/best_files.hpp"

namespace runner::cli {

namespace {

namespace fs = std::filesystem;

struct Listed {
  CheckpointSummary summary;
  bool readable = false;  // the manifest; if not, only the folder is known
  std::string damage = {};
  std::string obstacle = {};  // why it cannot be read here, although it may be complete
};

std::vector<Listed> all_checkpoints(const fs::path& folder) {
  std::vector<Listed> all;
  for (const fs::path& path : CheckpointStore(folder).all()) {
    Listed listed{.summary = {.folder = path}};
    try {
      listed.damage = damage_of(path);
      listed.summary = read_summary(path);
      listed.readable = true;
    } catch (const std::exception& error) {
      if (listed.damage.empty()) listed.obstacle = error.what();
    }
    if (!listed.readable && is_missing(path)) continue;  // a run that is training has deleted it meanwhile
    all.push_back(std::move(listed));
  }
  return all;
}

std::string metrics_text(const CheckpointSummary& summary) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : summary.metrics)
    parts.push_back(escaped_name(name) + " " + measured(value));
  return joined(parts, ", ");
}

nlohmann::ordered_json to_json(const std::vector<Listed>& all, const std::vector<BestFiles::Listed>& best) {
  auto json = nlohmann::ordered_json::array(), weights = nlohmann::ordered_json::array();
  for (const auto& [summary, readable, damage, obstacle] : all) {
    nlohmann::ordered_json one{{"folder", summary.folder.string()},
                               {"complete", damage.empty() && obstacle.empty()}};
    if (readable)
      one.update({{"step", summary.step},
                  {"epoch", summary.epoch},
                  {"created", summary.created},
                  {"bytes", summary.bytes}});
    for (const auto& [name, value] : summary.metrics) one["metrics"][name] = value;
    if (!damage.empty()) one["damage"] = damage;
    if (!obstacle.empty()) one["unreadable"] = obstacle;
    json.push_back(std::move(one));
  }
  for (const auto& [file, kept, metric, bytes, damage] : best) {
    nlohmann::ordered_json one{{"file", file.string()}};
    if (damage.empty())
      one.update({{"step", kept.step},
                  {"epoch", kept.epoch},
                  {"bytes", bytes},
                  {"metric", metric},
                  {"value", kept.value}});
    if (!damage.empty()) one["damage"] = damage;
    weights.push_back(std::move(one));
  }
  return {{"checkpoints", std::move(json)}, {"best", std::move(weights)}};
}

int list(const Arguments& arguments, Session& session) {
  const fs::path folder = find_run(arguments.get("RUN"));
  const auto all = all_checkpoints(folder);
  const auto best = BestFiles(folder).all();
  if (arguments.has("json")) {
    session.out << dumped(to_json(all, best));
    return Exit::done;
  }
  if (all.empty()) session.out << shown_message(folder.string()) << " has no checkpoint\n";
  std::vector<std::pair<std::string, std::string>> rows;
  for (const auto& [summary, readable, damage, obstacle] : all) {
    std::vector<std::string> facts;
    if (readable)
      facts = {"epoch " + epoch_text(summary.epoch), escaped_name(summary.created),
               approximately({static_cast<std::uint64_t>(summary.bytes)})};
    if (!summary.metrics.empty()) facts.push_back(metrics_text(summary));
    const auto red = [&](const std::string& text) { return session.out_style.red(text); };
    facts.push_back(!damage.empty()     ? red("damaged: " + escaped_name(damage))
                    : !obstacle.empty() ? red("cannot be read: " + escaped_name(obstacle))
                                        : session.out_style.green("complete"));
    rows.emplace_back(summary.folder.filename().string(), joined(facts, "  "));
  }
  for (const auto& [file, kept, metric, bytes, damage] : best)
    rows.emplace_back("best/" + file.filename().string(),
                      damage.empty() ? "epoch " + epoch_text(kept.epoch) + "  " + approximately({bytes}) +
                                           "  " + escaped_name(metric) + " " + measured(kept.value)
                                     : session.out_style.red("damaged: " + escaped_name(damage)));
  session.out << two_columns(rows, "", std::min<std::size_t>(output_width(session), 200));
  return Exit::done;
}

}  // namespace

Command checkpoints_command() {
  return {.name = "checkpoints",
          .summary =
              "List the checkpoints of a run, complete or damaged, and the weights of its best evaluations.",
          .arguments = {{"RUN", "A run folder, or the name of a run (its last one).", Argument::Count::one,
                         Word::file}},
          .options = {{.name = "json", .doc = "The same as JSON, for programs."}},
          .examples = {{"runner checkpoints shapes", "of the last run of that name"}},
          .run = &list};
}

}  // namespace runner::cli
