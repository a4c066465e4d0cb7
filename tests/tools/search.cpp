// The search of `runner sweep` without runs: prints a point a line, and reads what it is worth (lower is
// better).
//   search tpe|random SEED SAMPLES 'x=uniform(0,1)' ..
#include <iostream>
#include <string>

#include "runner/sweep/sampler.hpp"

int main(int argc, char** argv) {
  using namespace runner;
  if (argc < 5) return 2;
  std::vector<Parameter> parameters;
  for (int i = 4; i < argc; ++i) parameters.push_back(parse_parameter(argv[i]));
  const auto seed = static_cast<std::uint64_t>(std::atoll(argv[2]));
  const auto sampler =
      std::string(argv[1]) == "tpe" ? tpe_sampler(parameters, seed) : random_sampler(parameters, seed);
  std::vector<Observation> observations;
  for (std::int64_t trial = 0; trial < std::atoll(argv[3]); ++trial) {
    const auto point = sampler->next(trial, observations);
    if (!point) return 1;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      std::cout << (i > 0 ? " " : "") << parameters[i].text((*point)[i]);
    }
    std::cout << std::endl;
    double value = 0;
    if (!(std::cin >> value)) return 1;
    observations.push_back({*point, value});
  }
  return 0;
}
