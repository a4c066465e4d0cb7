#include "runner/predict/offload/device_map.hpp"

#include <algorithm>
#include <sstream>
#include <stdexcept>

#include "components/contract/pattern.hpp"
#include "registry/base/wording.hpp"

namespace runner {

namespace {

constexpr auto option = "--device-map";

// The device of each unit, filling the devices in order; shorter than `unit_bytes` if not all units fit.
std::vector<std::string> filled(const std::vector<std::uint64_t>& unit_bytes,
                                const std::vector<Capacity>& devices) {
  std::vector<std::string> places;
  auto device = devices.begin();
  std::uint64_t used = 0;
  for (const std::uint64_t bytes : unit_bytes) {
    while (device != devices.end() && bytes > device->bytes - used) {
      ++device;
      used = 0;
    }
    if (device == devices.end()) break;
    used += bytes;
    places.push_back(device->device);
  }
  return places;
}

}  // namespace

DeviceMap parse_device_map(const std::string& text) {
  if (text == "auto") return {.automatic = true};
  DeviceMap map;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const auto equals = part.rfind('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == part.size())
      throw std::runtime_error(std::string(option) + " is \"auto\" or a list of PATTERN=DEVICE, such as " +
                               "\"transformer.h.0=cpu,*=disk\"; " + in_quotes(part) + " is neither.");
    map.rules.emplace_back(part.substr(0, equals), part.substr(equals + 1));
  }
  if (map.rules.empty())
    throw std::runtime_error(std::string(option) + " needs \"auto\" or a list of PATTERN=DEVICE.");
  return map;
}

void require_matches(const DeviceMap& map, const std::vector<std::string>& parameters) {
  for (const auto& [pattern, place] : map.rules) {
    const auto hit = [&, &wanted = pattern](const std::string& name) { return selects(wanted, name); };
    if (!std::ranges::any_of(parameters, hit))
      throw std::runtime_error(nothing_selected(option, pattern, parameters));
  }
}

std::string place_by_rules(const DeviceMap& map, const std::string& parameter) {
  const auto rule =
      std::ranges::find_if(map.rules, [&](const auto& each) { return selects(each.first, parameter); });
  return rule == map.rules.end() ? "disk" : rule->second;
}

std::vector<std::string> fill_in_order(const std::vector<std::uint64_t>& unit_bytes,
                                       std::vector<Capacity> devices) {
  std::vector<std::string> places = filled(unit_bytes, devices);
  if (places.size() < unit_bytes.size()) {
    const std::uint64_t reserve = 2 * *std::ranges::max_element(unit_bytes);
    if (!devices.empty()) devices.front().bytes -= std::min(devices.front().bytes, reserve);
    places = filled(unit_bytes, devices);
  }
  places.resize(unit_bytes.size(), "disk");
  return places;
}

}  // namespace runner
