#include "runner/ranks/sighting.hpp"

#include <nlohmann/json.hpp>

#include "registry/base/log.hpp"
#include "registry/files/read_json.hpp"

namespace runner {

using nlohmann::json;

std::string where(const Sighting& s) {
  const std::string step = s.step < 0 ? "before the first step" : log::format("at step {}", s.step);
  return s.exchange.empty() ? step : step + " (last exchange: " + s.exchange + ")";
}

Sighting at_least_at(std::int64_t step, Sighting sighting) {
  if (step <= sighting.step) return sighting;
  sighting.step = step;
  sighting.exchange.clear();  // an older one
  return sighting;
}

std::string to_text(const Sighting& s) {
  const json fields{s.beat,     s.collective, s.step,    s.first_step,
                    s.exchange, s.host,       s.process, static_cast<int>(s.phase),
                    s.message};
  return fields.dump(-1, ' ', false, json::error_handler_t::replace);
}

Sighting parse_sighting(const std::string& text) {
  const json j = read_json(text);
  return {j.at(0).get<std::int64_t>(), j.at(1).get<std::int64_t>(),    j.at(2).get<std::int64_t>(),
          j.at(3).get<std::int64_t>(), j.at(4).get<std::string>(),     j.at(5).get<std::string>(),
          j.at(6).get<std::int64_t>(), j.at(7).get<Sighting::Phase>(), j.at(8).get<std::string>()};
}

std::string rank_key(int rank) { return "rank/" + std::to_string(rank); }
std::string gone_key(int rank) { return "gone/" + std::to_string(rank); }
std::string attempt_name(int restart) { return "attempt " + std::to_string(restart); }

}  // namespace runner
