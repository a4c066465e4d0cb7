#include "runner/cli/problem.hpp"

#include <ostream>

#include "registry/base/suggest.hpp"
#include "registry/base/wording.hpp"
#include "runner/describe/kinds.hpp"
#include "runner/terminal/text.hpp"

namespace runner::cli {

int refuse(const Problem& problem, Session& session) {
  const Style& style = session.err_style;
  session.err << style.bold("runner: ") << style.bold(style.red("error: ")) << style.bold(problem.message)
              << "\n";
  for (const std::string& hint : problem.hints) session.err << "  " << hint << "\n";
  if (!problem.see.empty()) session.err << "  see: " << style.cyan(problem.see) << "\n";
  return Exit::bad_input;
}

Problem unknown_kind(const std::string& wanted, const Registry& registry) {
  const auto names = kind_names(registry);
  Problem problem{"there is no kind of component called " + in_quotes(wanted)};
  if (const auto hint = did_you_mean(wanted, names)) problem.hints.push_back(*hint);
  problem.hints.push_back("kinds: " + joined(names));
  problem.see = "runner list";
  return problem;
}

}  // namespace runner::cli
