#include "runner/cli/options/offload_option.hpp"

#include <stdexcept>

#include "runner/cli/problem.hpp"

namespace runner::cli {

const std::vector<Option>& offload_options() {
  static const std::vector<Option> options{
      {.name = "offload",
       .doc = "For models larger than memory: weights stay in their file and are read when they are needed."},
      {.name = "device-map",
       .doc = "With --offload, where to keep weights: auto (fill the GPUs, then memory, then leave them on "
              "disk) or PATTERN=DEVICE,.. with cpu, cuda:N or disk; default: all on disk.",
       .value = "MAP"}};
  return options;
}

bool read_offload(const Arguments& arguments, Session& session, std::optional<OffloadOptions>& into) {
  if (!arguments.has("offload")) {
    if (!arguments.has("device-map")) return true;
    refuse({"--device-map says where --offload keeps the weights: add --offload"}, session);
    return false;
  }
  try {
    into.emplace();
    if (arguments.has("device-map")) into->map = parse_device_map(arguments.get("device-map"));
  } catch (const std::runtime_error& error) {
    refuse({error.what()}, session);
    return false;
  }
  return true;
}

}  // namespace runner::cli
