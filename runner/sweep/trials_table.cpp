#include "runner/sweep/trials_table.hpp"

#include <algorithm>
#include <limits>

#include "registry/wording.hpp"
#include "runner/terminal/format.hpp"
#include "runner/terminal/grid.hpp"
#include "runner/terminal/text.hpp"

namespace runner {

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

}  // namespace runner
