#include "registry/told_apart.hpp"

namespace runner {

std::pair<std::string, std::string> told_apart(const ByteSize& one, const ByteSize& other) {
  std::pair texts{approximately(one), approximately(other)};
  if (texts.first != texts.second) return texts;
  return {std::to_string(one.bytes) + " B", std::to_string(other.bytes) + " B"};
}

}  // namespace runner
