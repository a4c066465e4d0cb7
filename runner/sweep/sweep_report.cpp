#include "runner/sweep/sweep_report.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runner/report/page.hpp"
#include "runner/report/run_report.hpp"
#include "runner/sweep/importance.hpp"

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
  const std::vector<double> shares = importance(plan.parameters, observations_of(trials, plan.objective));
  std::vector<std::pair<std::string, double>> named;
  for (std::size_t i = 0; i < shares.size(); ++i) named.emplace_back(plan.parameters[i].key, shares[i]);
  std::ranges::stable_sort(named, std::greater{}, [](const auto& each) { return each.second; });
  Json json = Json::array();
  for (const auto& [key, share] : named) json.push_back({key, share});
  return json;
}

}  // namespace

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
