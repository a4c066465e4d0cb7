#include "components/models/weights/pretrained_rope.hpp"

#include <nlohmann/json.hpp>

#include "registry/base/wording.hpp"
#include "registry/value.hpp"

namespace runner {

namespace {

using Json = nlohmann::json;

double number(const Json& rope, const char* key, double fallback) {
  const auto found = rope.find(key);
  return found != rope.end() && found->is_number() ? found->get<double>() : fallback;
}

std::string toml(double value) { return to_toml(Value(Value::Data(value))); }

std::string toml(const RopeScaling& scaling) {
  const char* type = scaling.type == RopeType::linear    ? "linear"
                     : scaling.type == RopeType::dynamic ? "dynamic"
                                                         : "llama3";
  std::string text = "{ type = \"" + std::string(type) + "\", factor = " + toml(scaling.factor);
  if (scaling.type != RopeType::linear)
    text += ", original_context = " + std::to_string(scaling.original_context);
  if (scaling.type == RopeType::llama3) {
    text += ", low_freq_factor = " + toml(scaling.low_freq_factor) +
            ", high_freq_factor = " + toml(scaling.high_freq_factor);
  }
  return text + " }";
}

std::string type_of(const Json& rope) {
  for (const char* key : {"rope_type", "type"}) {
    const auto found = rope.find(key);
    if (found != rope.end() && found->is_string()) return found->get<std::string>();
  }
  return "default";
}

}  // namespace

void compare_rope(PretrainedConfig& config, std::int64_t context, double theta,
                  const std::optional<RopeScaling>& scaling) {
  const Json* parameters = config.find("rope_parameters");
  const Json* given = parameters ? parameters : config.find("rope_scaling");
  const Json rope = given && given->is_object() ? *given : Json::object();
  const double wanted_theta = number(rope, "rope_theta", config.number("rope_theta", 10000));
  if (wanted_theta != theta) config.differs("rope_theta", toml(wanted_theta));
  if (number(rope, "partial_rotary_factor", 1) != 1)
    config.cannot("rotary positions for a part of each head");

  const std::string type = type_of(rope);
  std::optional<RopeScaling> wanted;
  const auto original =
      static_cast<std::int64_t>(number(rope, "original_max_position_embeddings",
                                       static_cast<double>(config.integer("max_position_embeddings", 2048))));
  if (type == "linear") {
    wanted = {RopeType::linear, number(rope, "factor", 1)};
  } else if (type == "dynamic") {
    wanted = {RopeType::dynamic, number(rope, "factor", 1), original};
  } else if (type == "llama3") {
    wanted = {RopeType::llama3, number(rope, "factor", 8), original, number(rope, "low_freq_factor", 1),
              number(rope, "high_freq_factor", 4)};
  } else if (type != "default") {
    return config.cannot("rope_scaling of type " + in_quotes(type));
  }
  const std::int64_t positions = config.integer("max_position_embeddings", 2048);
  if (context > positions && type != "dynamic") config.differs("context", std::to_string(positions));
  if (scaling == wanted) return;
  if (wanted) config.differs("rope_scaling", toml(*wanted));
  if (!wanted)
    config.cannot("rope_scaling: these weights were trained without it; delete model.rope_scaling");
}

}  // namespace runner
