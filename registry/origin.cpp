#include "registry/origin.hpp"

namespace runner {

std::string to_string(const Origin& origin) {
  if (origin.is_default()) return "default";
  const Source& source = *origin.source;
  switch (source.kind) {
    case Source::Kind::argument: return "argument " + source.name;
    case Source::Kind::environment: return "environment " + source.name;
    case Source::Kind::file: break;
  }
  if (origin.line == 0) return source.name;
  return source.name + ":" + std::to_string(origin.line) + ":" + std::to_string(origin.column);
}

}  // namespace runner
