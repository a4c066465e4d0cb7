#include "components/trackers/support/mlflow_name.hpp"

#include <algorithm>

#include "registry/utf8.hpp"

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
  // MLflow takes a name as a path and wants it in its shortest form.
  if (allowed.empty() || allowed == "." || allowed.starts_with("..")) allowed = "_" + allowed;
  for (const char* unclear : {"//", "/./", "/../"}) {
    for (auto at = allowed.find(unclear); at != std::string::npos; at = allowed.find(unclear))
      allowed[at] = '_';
  }
  if (allowed.starts_with('/')) allowed[0] = '_';
  if (allowed.ends_with('/')) allowed.back() = '_';
  return allowed;
}

}  // namespace runner
