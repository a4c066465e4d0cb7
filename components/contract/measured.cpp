#include "components/contract/measured.hpp"

#include <algorithm>
#include <stdexcept>

#include "registry/base/suggest.hpp"
#include "registry/base/wording.hpp"

namespace runner {

namespace {

bool covers(const Measured& one, const std::string& name) {
  return one.name.ends_with('*') ? name.starts_with(one.name.substr(0, one.name.size() - 1))
                                 : one.name == name;
}

std::string unknown(const std::string& name, const std::vector<Measured>& measured) {
  const std::string text = in_quotes(name) + ", which no metric reports";
  if (measured.empty()) return text + ": add it to [[eval.metric]]";
  std::vector<std::string> names;
  for (const Measured& one : measured) names.push_back(one.name);
  const bool lacks_prefix = find_measured(measured, "eval/" + name) != nullptr;
  const auto meant = lacks_prefix ? std::optional("eval/" + name) : nearest(name, names);
  return text + (meant ? "; did you mean " + in_quotes(*meant) + "?" : "") + " (measured: " + listed(names) +
         ")";
}

}  // namespace

const Measured* find_measured(const std::vector<Measured>& measured, const std::string& name) {
  const auto found = std::ranges::find_if(measured, [&](const Measured& one) { return covers(one, name); });
  return found == measured.end() ? nullptr : &*found;
}

std::string problem_of(const Watched& watched, const std::vector<Measured>& measured) {
  const std::string name = in_quotes(watched.metric);
  const Measured* found = find_measured(measured, watched.metric);
  if (!found) return unknown(watched.metric, measured);
  if (!found->better && !watched.mode)
    return name + "; set mode = \"max\" or \"min\": it is not known which is better for this metric";
  if (!found->better || !watched.mode || *found->better == *watched.mode) return "";
  return *found->better == Better::min
             ? name + " with mode = \"max\", but lower is better for this metric; delete mode"
             : name + " with mode = \"min\", but higher is better for this metric; delete mode";
}

Better direction_of(const Watched& watched, const std::vector<Measured>& measured, const std::string& who) {
  const std::string problem = problem_of(watched, measured);
  if (!problem.empty()) throw std::runtime_error(who + " watches " + problem);
  const Measured* found = find_measured(measured, watched.metric);
  return watched.mode ? *watched.mode : *found->better;
}

}  // namespace runner
