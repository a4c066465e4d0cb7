#include "runner/predict/offload/device_map.hpp"

#include <catch2/catch_all.hpp>

using namespace runner;
using Catch::Matchers::ContainsSubstring;
using Places = std::vector<std::string>;

TEST_CASE("device map: one device is filled after the other, then the disk", "[offload]") {
  const std::vector<std::uint64_t> units{40, 30, 20, 10, 50};
  CHECK(fill_in_order(units, {{"cuda:0", 1000}, {"cpu", 1000}}) == Places(5, "cuda:0"));
  CHECK(fill_in_order(units, {{"cuda:0", 90}, {"cuda:1", 30}, {"cpu", 50}}) ==
        Places{"cuda:0", "cuda:0", "cuda:0", "cuda:1", "cpu"});
  CHECK(fill_in_order(units, {{"cpu", 150}}) == Places(5, "cpu"));
  CHECK(fill_in_order(units, {}) == Places(5, "disk"));
  CHECK(fill_in_order({}, {{"cpu", 1}}).empty());
}

TEST_CASE("device map: where not everything fits, the first device has room for two units", "[offload]") {
  const std::vector<std::uint64_t> units{40, 30, 20, 10, 50};
  // 149 - 2 * 50 leaves 49: one unit, and then the disk; a later unit that would fit does not go back.
  CHECK(fill_in_order(units, {{"cpu", 149}}) == Places{"cpu", "disk", "disk", "disk", "disk"});
  CHECK(fill_in_order(units, {{"cuda:0", 140}, {"cpu", 45}}) ==
        Places{"cuda:0", "cpu", "disk", "disk", "disk"});
  CHECK(fill_in_order(units, {{"cuda:0", 149}, {"cpu", 60}}) ==
        Places{"cuda:0", "cuda:0", "cuda:0", "cuda:0", "cpu"});
  CHECK(fill_in_order(units, {{"cpu", 99}}) == Places(5, "disk"));
}

TEST_CASE("device map: by pattern, the first one that fits", "[offload]") {
  const DeviceMap map = parse_device_map("transformer.h.0=cpu,*.bias=disk,transformer=cuda:1");
  CHECK_FALSE(map.automatic);
  CHECK(place_by_rules(map, "transformer.h.0.ln_1.bias") == "cpu");
  CHECK(place_by_rules(map, "transformer.h.1.ln_1.bias") == "disk");
  CHECK(place_by_rules(map, "transformer.h.1.ln_1.weight") == "cuda:1");
  CHECK(place_by_rules(map, "lm_head.weight") == "disk");
  CHECK(parse_device_map("auto").automatic);
  CHECK(parse_device_map("a=b=cpu").rules.front() == std::pair<std::string, std::string>("a=b", "cpu"));
}

TEST_CASE("device map: what makes no sense is refused", "[offload]") {
  for (const std::string text : {"", "cpu", "=cpu", "fc=", "fc=cpu,cpu"})
    CHECK_THROWS_WITH(parse_device_map(text), ContainsSubstring("--device-map"));
  CHECK_THROWS_WITH(require_matches(parse_device_map("fcc=cpu"), {"fc.weight", "fc.bias"}),
                    ContainsSubstring("\"fcc\"") && ContainsSubstring("did you mean \"fc\""));
  CHECK_NOTHROW(require_matches(parse_device_map("fc=cpu,*=disk"), {"fc.weight"}));
}
