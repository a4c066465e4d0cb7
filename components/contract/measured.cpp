#include "components/contract/measured.hpp"

#include <algorithm>
#include <stdexcept>

#include "registry/suggest.hpp"

namespace runner {

namespace {

bool covers(const Measured& one, const std::string& name) {
  return one.name.ends_with('*') ? name.starts_with(one.name.substr(0, one.name.size() - 1))
                                 : one.name == name;
}

std::string unknown(const std::string& name, const std::vector<Measured>& measured) {
  const std::string text = "\"" + name + "\", which nothing measures";
  if (measured.empty()) return text + ": add it to [[eval.metric]]";
  std::vector<std::string> names;
  std::string list;
  for (const Measured& one : measured) {
    names.push_back(one.name);
    list += (list.empty() ? "" : ", ") + one.name;
  }
  const bool lacks_prefix = find_measured(measured, "eval/" + name) != nullptr;
  const auto meant = lacks_prefix ? std::optional("eval/" + name) : nearest(name, names);
  return text + (meant ? "; did you mean \"" + *meant + "\"?" : "") + " (measured: " + list + ")";
}

}  // namespace

const Measured* find_measured(const std::vector<Measured>& measured, const std::string& name) {
  const auto found = std::ranges::find_if(measured, [&](const Measured& one) { return covers(one, name); });
  return found == measured.end() ? nullptr : &*found;
}

std::string problem_of(const Watched& watched, const std::vector<Measured>& measured) {
  const std::string name = "\"" + watched.metric + "\"";
  const Measured* found = find_measured(measured, watched.metric);
  if (!found) return unknown(watched.metric, measured);
  if (!found->better && !watched.mode)
    return name +
           ", of which it is not known whether higher or lower is better: say mode = \"max\" or \"min\"";
  if (!found->better || !watched.mode || *found->better == *watched.mode) return "";
  return *found->better == Better::min
             ? name + " with mode = \"max\", but of it lower is better: delete mode"
             : name + " with mode = \"min\", but of it higher is better: delete mode";
}

Better direction_of(const Watched& watched, const std::vector<Measured>& measured, const std::string& who) {
  const std::string problem = problem_of(watched, measured);
  if (!problem.empty()) throw std::runtime_error(who + " decides by " + problem);
  const Measured* found = find_measured(measured, watched.metric);
  return watched.mode ? *watched.mode : *found->better;
}

}  // namespace runner
