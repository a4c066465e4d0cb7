#include "components/optimizers/groups.hpp"

#include <map>
#include <stdexcept>

#include "components/contract/pattern.hpp"
#include "registry/base/wording.hpp"

namespace runner {

namespace {

std::string why_without_effect(const GroupRule& rule, std::size_t number,
                               const torch::OrderedDict<std::string, torch::Tensor>& parameters) {
  const std::string setting = "optimizer.group." + std::to_string(number) + ".match";
  bool some = false;
  bool trained = false;
  for (const auto& entry : parameters) {
    if (!selects(rule.match, entry.key())) continue;
    some = true;
    trained = trained || entry.value().requires_grad();
  }
  if (!some) return nothing_selected(setting, rule.match, parameters.keys());
  return setting + ": " + in_quotes(rule.match) + " matches only " +
         (trained ? "parameters that an earlier group has taken; the first that matches counts"
                  : "frozen parameters");
}

}  // namespace

std::vector<ParameterGroup> make_groups(const torch::OrderedDict<std::string, torch::Tensor>& parameters,
                                        const OptimizerCommon& settings) {
  const std::size_t no_rule = settings.group.size();
  std::map<std::pair<std::size_t, bool>, ParameterGroup>
      groups;  // by rule, and whether weight decay is turned off
  std::vector<bool> used(settings.group.size());
  for (const auto& entry : parameters) {
    if (!entry.value().requires_grad()) continue;
    std::size_t rule = 0;
    while (rule < no_rule && !selects(settings.group[rule].match, entry.key())) ++rule;
    std::optional<double> weight_decay;
    double lr_multiplier = 1.0;
    if (rule < no_rule) {
      used[rule] = true;
      weight_decay = settings.group[rule].weight_decay;
      lr_multiplier = settings.group[rule].lr_multiplier;
    }
    const bool spared = !settings.decay_biases_and_norms && !weight_decay && entry.value().dim() <= 1;
    ParameterGroup& group = groups[{rule, spared}];
    group.names.push_back(entry.key());
    group.parameters.push_back(entry.value());
    group.lr_multiplier = lr_multiplier;
    group.weight_decay = spared ? 0.0 : weight_decay;
  }
  for (std::size_t rule = 0; rule < no_rule; ++rule) {
    if (!used[rule]) throw std::runtime_error(why_without_effect(settings.group[rule], rule, parameters));
  }
  if (groups.empty())
    throw std::runtime_error("The model has no parameters to train: all of them are frozen.");
  std::vector<ParameterGroup> list;
  for (auto& [key, group] : groups) list.push_back(std::move(group));
  return list;
}

}  // namespace runner
