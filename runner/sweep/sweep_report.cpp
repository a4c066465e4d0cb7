#include "runner/sweep/sweep_report.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "registry/base/wording.hpp"
#include "runner/runs/report/page.hpp"
#include "runner/runs/report/run_report.hpp"
#include "runner/sweep/importance.hpp"
#include "runner/terminal/format.hpp"
#include "runner/terminal/grid.hpp"
#include "runner/terminal/text.hpp"

namespace runner {

namespace {

using Json = nlohmann::ordered_json;

Json to_json(const SweepPlan& plan, const Trial& trial) {
  Json settings = Json::object();
  for (std::size_t i = 0; i < plan.parameters.size(); ++i)
    settings[plan.parameters[i].key] = plan.parameters[i].text(trial.point.at(i));
  return {{"number", trial.number},          {"outcome", to_string(trial.outcome)},
          {"message", trial.message},        {"value", trial.value ? Json(*trial.value) : Json()},
          {"settings", std::move(settings)}, {"steps", trial.step},
          {"seconds", trial.seconds}};
}

Json importance_json(const SweepPlan& plan, const std::vector<Trial>& trials) {
  const auto shares = importance(plan.parameters, observations_of(trials, plan.objective));
  std::vector<std::pair<std::string, std::optional<double>>> named;
  for (std::size_t i = 0; i < shares.size(); ++i) named.emplace_back(plan.parameters[i].key, shares[i]);
  std::ranges::stable_sort(named, std::greater{}, [](const auto& each) { return each.second; });
  Json json = Json::array();
  for (const auto& [key, share] : named) json.push_back({key, share ? Json(*share) : Json()});
  return json;
}

}  // namespace

std::string trials_table(const SweepPlan& plan, std::vector<Trial> trials, const Style& style) {
  std::ranges::stable_sort(trials, {}, [&](const Trial& trial) {
    if (!trial.value || trial.outcome == Trial::Outcome::failed)
      return std::numeric_limits<double>::infinity();
    return plan.objective.highest ? -*trial.value : *trial.value;
  });
  std::vector<GridColumn> columns{{"trial", true}, {"outcome"}, {escaped_name(plan.objective.metric), true}};
  for (const Parameter& parameter : plan.parameters) columns.push_back({parameter.key, true});
  columns.insert(columns.end(), {{"steps", true}, {"duration", true}});
  std::vector<std::vector<std::string>> rows;
  std::string failures;
  for (const Trial& trial : trials) {
    rows.push_back(
        {std::to_string(trial.number), to_string(trial.outcome), trial.value ? measured(*trial.value) : ""});
    for (std::size_t i = 0; i < plan.parameters.size(); ++i)
      rows.back().push_back(plan.parameters[i].text(trial.point[i]));
    rows.back().push_back(grouped(static_cast<std::int64_t>(trial.step)));
    rows.back().push_back(duration_text(trial.seconds));
    if (trial.outcome == Trial::Outcome::failed)
      failures += "trial " + std::to_string(trial.number) + " failed: " + shown_message(trial.message) + "\n";
  }
  std::string text = grid(columns, rows, style) + failures;
  if (const Trial* best = best_trial(trials, plan.objective)) {
    text += "\nbest: trial " + std::to_string(best->number) + ", " + plan.objective.metric + " " +
            measured(*best->value) + "\n  " + joined(plan.settings(best->point), " ") + "\n  " +
            plan.trial_folder(best->number).string() + "\n";
  }
  return text;
}

std::string sweep_report(const SweepPlan& plan, const std::vector<Trial>& trials) {
  std::vector<std::filesystem::path> runs;
  for (const Trial& trial : trials) {
    if (is_run_folder(plan.trial_folder(trial.number))) runs.push_back(plan.trial_folder(trial.number));
  }
  if (runs.empty()) return "";
  Json data = report_data(runs);
  for (std::size_t i = 0; i < runs.size(); ++i)
    data["runs"][i]["name"] = "trial " + runs[i].filename().string();
  data["title"] = "Sweep " + plan.folder.filename().string();
  Json& sweep = data["sweep"];
  sweep = {{"metric", plan.objective.metric}, {"highest", plan.objective.highest}, {"best", nullptr}};
  if (const Trial* best = best_trial(trials, plan.objective)) sweep["best"] = best->number;
  for (const Parameter& parameter : plan.parameters) sweep["parameters"].push_back(parameter.key);
  sweep["importance"] = importance_json(plan, trials);
  for (const Trial& trial : trials) sweep["trials"].push_back(to_json(plan, trial));
  return html_page(data["title"].get<std::string>(), "report", data);
}

}  // namespace runner
