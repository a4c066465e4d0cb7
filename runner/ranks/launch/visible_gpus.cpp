#include "runner/ranks/launch/visible_gpus.hpp"

#include <sstream>

namespace runner {

namespace {

constexpr auto list_of_gpus = "CUDA_VISIBLE_DEVICES";

}  // namespace

std::optional<std::vector<std::string>> listed_gpus(const Environment& environment) {
  const auto found = environment.find(list_of_gpus);
  if (found == environment.end()) return std::nullopt;
  std::vector<std::string> names;
  std::istringstream list(found->second);
  for (std::string name; std::getline(list, name, ',');) names.push_back(name);
  return names;
}

void show_only_gpu(int gpu, Environment& environment) {
  const auto listed = listed_gpus(environment);
  environment[list_of_gpus] = listed ? listed->at(static_cast<std::size_t>(gpu)) : std::to_string(gpu);
}

}  // namespace runner
