#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace runner {

// Where the weights of a model that does not fit into memory are kept: "cuda:0", "cpu" .. or "disk", which
// means in their file.
struct DeviceMap {
  bool automatic = false;  // fill one device after the other, then the disk
  // Pattern and place: the first pattern that matches a parameter counts. Without a match it stays on disk.
  std::vector<std::pair<std::string, std::string>> rules = {};
};

// "auto", or "transformer.h.0=cpu,*.wte=cpu". Throws std::runtime_error that says what is wrong.
DeviceMap parse_device_map(const std::string& text);

// Throws std::runtime_error if a pattern selects none of these parameters.
void require_matches(const DeviceMap& map, const std::vector<std::string>& parameters);
std::string place_by_rules(const DeviceMap& map, const std::string& parameter);

struct Capacity {
  std::string device;
  std::uint64_t bytes;
};

// The place of each unit: the first device is filled, then the next, then the disk. If not everything fits,
// room for two units stays free on the first device, which computes with all units that are on disk.
std::vector<std::string> fill_in_order(const std::vector<std::uint64_t>& unit_bytes,
                                       std::vector<Capacity> devices);

}  // namespace runner
