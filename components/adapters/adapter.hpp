#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "components/layers/linear.hpp"
#include "registry/component.hpp"

namespace runner {

// Small trained parts in the linear layers of a model that is otherwise frozen.
//   class Scale final : public Adapter {
//     std::shared_ptr<LayerAdapter> sit_in(LinearImpl& layer, const std::string& name) const override;
//     nlohmann::json peft_config() const override;
//   };
class Adapter {
 public:
  virtual ~Adapter() = default;

  // Registers the adapter's parameters in the layer called `name` and returns what takes part in its output.
  virtual std::shared_ptr<LayerAdapter> sit_in(LinearImpl& layer, const std::string& name) const = 0;
  // Whether this parameter of the model itself is trained, too; `adapted`: an adapter sits in its layer.
  virtual bool trains(const std::string& parameter, bool adapted) const;
  // Its settings as PEFT's adapter_config.json has them, "peft_type" among them.
  virtual nlohmann::json peft_config() const = 0;
};

struct AdapterInputs {
  const nlohmann::json* peft_config =
      nullptr;  // of the folder that training starts from; null: there is none
};

struct AdapterCommon {
  std::vector<std::string> targets;
  std::vector<std::string> exclude;
  std::vector<std::string> modules_to_save;
  std::optional<std::filesystem::path> weights;
};
constexpr auto describe(std::type_identity<AdapterCommon>) {
  return fields(
      field(
          "targets", &AdapterCommon::targets,
          "Linear layers with an adapter, by the end of their names or by pattern: [\"q_proj\", \"mlp.*\"]. "
          "Default: those that PEFT chooses for the model.",
          fixed()),
      field("exclude", &AdapterCommon::exclude, "Layers without an adapter although targets name them.",
            fixed()),
      field("modules_to_save", &AdapterCommon::modules_to_save,
            "Parts of the model that are trained whole and saved with the adapter, such as a new head: "
            "[\"classifier\"].",
            fixed()),
      field("weights", &AdapterCommon::weights,
            "The adapter to start from: a folder written by PEFT, or by a run. Settings that are not given "
            "are the folder's.",
            harmless()));
}

struct AdapterKind {
  static constexpr std::string_view name = "adapter";
  static constexpr std::string_view summary = "Small trained parts in the layers of a frozen model.";
  static constexpr KindOnResume on_resume{.part = OnResume::fixed, .parameters = OnResume::fixed};
  using Product = Adapter;
  using Inputs = AdapterInputs;
  using Common = AdapterCommon;
};

// Whether a pattern names this layer: "q_proj" and "self_attn.*" select "model.layers.0.self_attn.q_proj".
bool selects_layer(std::string_view pattern, std::string_view name);

}  // namespace runner
