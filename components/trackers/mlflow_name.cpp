#include "components/trackers/mlflow_name.hpp"

#include <algorithm>

#include "components/trackers/tracker_files.hpp"
#include "registry/base/log.hpp"
#include "registry/base/utf8.hpp"
#include "registry/base/wording.hpp"

namespace runner {

std::string mlflow_name(std::string_view name) {
  constexpr std::size_t longest = 250;
  std::string allowed;
  while (!name.empty() && allowed.size() < longest) {
    const std::size_t length = std::max<std::size_t>(utf8_length(name), 1);
    const char c = name[0];
    const bool plain =
        length == 1 && ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                        std::string_view("_-. :/").find(c) != std::string_view::npos);
    allowed += plain ? c : '_';
    name.remove_prefix(length);
  }
  // MLflow treats a name as a path, which must be normalised.
  if (allowed.empty() || allowed == "." || allowed.starts_with(".."))
    allowed = ("_" + allowed).substr(0, longest);
  if (allowed.starts_with("./")) allowed[0] = '_';
  for (const char* unclear : {"//", "/./", "/../"}) {
    for (auto at = allowed.find(unclear); at != std::string::npos; at = allowed.find(unclear))
      allowed[at] = '_';
  }
  if (allowed.starts_with('/')) allowed[0] = '_';
  for (const std::string_view unclear : {"/", "/.", "/.."})
    if (allowed.ends_with(unclear)) allowed[allowed.size() - unclear.size()] = '_';
  return allowed;
}

const std::string& MlflowNames::of(const std::string& name) {
  constexpr std::size_t longest_shown = 200;
  const auto known = changed_.find(name);
  if (known != changed_.end()) return known->second;
  std::string allowed = mlflow_name(name);
  if (!taken_.insert(allowed).second)
    taken_.insert(allowed = allowed.substr(0, longest_shown) + "_" + short_digest(name));
  if (allowed != name) {
    log::warning("MLflow does not allow the name {}; it becomes {}.", in_quotes(name), in_quotes(allowed));
  }
  return changed_[name] = allowed;
}

}  // namespace runner
