#include "components/models/weights/pretrained_rope.hpp"

#include <cmath>
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
                     : scaling.type == RopeType::yarn    ? "yarn"
                                                         : "llama3";
  std::string text = "{ type = \"" + std::string(type) + "\", factor = " + toml(scaling.factor);
  if (scaling.type != RopeType::linear)
    text += ", original_context = " + std::to_string(scaling.original_context);
  if (scaling.type == RopeType::llama3) {
    text += ", low_freq_factor = " + toml(scaling.low_freq_factor) +
            ", high_freq_factor = " + toml(scaling.high_freq_factor);
  }
  if (scaling.type == RopeType::yarn) {
    text += ", beta_fast = " + toml(scaling.beta_fast) + ", beta_slow = " + toml(scaling.beta_slow) +
            ", attention_factor = " + toml(scaling.attention_factor);
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

nlohmann::json rope_of(const PretrainedConfig& config) {
  const Json* parameters = config.find("rope_parameters");
  const Json* given = parameters ? parameters : config.find("rope_scaling");
  return given && given->is_object() ? *given : Json::object();
}

PretrainedRope read_rope(const PretrainedConfig& config, const Json& rope, double usual_theta) {
  PretrainedRope read;
  read.theta = number(rope, "rope_theta", usual_theta);
  read.part = number(rope, "partial_rotary_factor", 1);
  const std::string type = type_of(rope);
  const double positions = static_cast<double>(config.integer("max_position_embeddings", 2048));
  const auto original =
      static_cast<std::int64_t>(number(rope, "original_max_position_embeddings", positions));
  const double factor = number(rope, "factor", 1);
  if (type == "linear") {
    read.scaling = {.type = RopeType::linear, .factor = factor};
  } else if (type == "dynamic") {
    read.scaling = {.type = RopeType::dynamic, .factor = factor, .original_context = original};
  } else if (type == "llama3") {
    read.scaling = {.type = RopeType::llama3,
                    .factor = number(rope, "factor", 8),
                    .original_context = original,
                    .low_freq_factor = number(rope, "low_freq_factor", 1),
                    .high_freq_factor = number(rope, "high_freq_factor", 4)};
  } else if (type == "yarn") {
    const double stretched = number(rope, "factor", positions / static_cast<double>(original));
    read.scaling = {.type = RopeType::yarn,
                    .factor = stretched,
                    .original_context = original,
                    .beta_fast = number(rope, "beta_fast", 32),
                    .beta_slow = number(rope, "beta_slow", 1),
                    .attention_factor = number(rope, "attention_factor", 0)};
    const double top = number(rope, "mscale", 0), bottom = number(rope, "mscale_all_dim", 0);
    const auto sharper = [&](double by) { return stretched <= 1 ? 1 : 0.1 * by * std::log(stretched) + 1; };
    if (read.scaling->attention_factor == 0 && top > 0 && bottom > 0)
      read.scaling->attention_factor = sharper(top) / sharper(bottom);
    if (rope.value("truncate", Json(true)) == false)
      read.unsupported = "rotary positions with truncate = false";
  } else if (type != "default") {
    read.unsupported = "rope_scaling of type " + in_quotes(type);
  }
  return read;
}

void compare_rope(PretrainedConfig& config, std::int64_t context, double theta,
                  const std::optional<RopeScaling>& scaling) {
  const PretrainedRope wanted = read_rope(config, rope_of(config), config.number("rope_theta", 10000));
  if (wanted.theta != theta) config.differs("rope_theta", toml(wanted.theta));
  if (wanted.part != 1) config.cannot("rotary positions for a part of each head");
  if (!wanted.unsupported.empty()) return config.cannot(wanted.unsupported);
  const std::int64_t positions = config.integer("max_position_embeddings", 2048);
  const bool dynamic = wanted.scaling && wanted.scaling->type == RopeType::dynamic;
  if (context > positions && !dynamic) config.differs("context", std::to_string(positions));
  if (scaling == wanted.scaling) return;
  if (wanted.scaling) config.differs("rope_scaling", toml(*wanted.scaling));
  if (!wanted.scaling)
    config.cannot("rope_scaling: these weights were trained without it; delete model.rope_scaling");
}

}  // namespace runner
