// What a resumed run may change of a model: another value of a parameter is impossible exactly if the model
// then has other tensors.
#include <torch/types.h>

#include <catch2/catch_all.hpp>

#include "components/models/model.hpp"
#include "components/torch/meta_mode.hpp"
#include "registry/registry.hpp"
#include "tests/support/parts.hpp"

using namespace runner;
using namespace runner::testing;

namespace {

using Shapes = std::map<std::string, std::vector<std::int64_t>>;

const std::vector<DataSpec>& kinds_of_data() {
  static const std::vector<DataSpec> all{
      {.input_shape = {3, 32, 32}, .classes = 5},
      {.input_shape = {16}, .input_type = torch::kInt64, .classes = 3, .vocabulary = 11},
      {.input_shape = {16},
       .input_type = torch::kInt64,
       .target_shape = {16},
       .classes = 11,
       .vocabulary = 11},
      {.input_shape = {4}, .classes = 2, .categories = {3, 20}}};
  return all;
}

// The tensors of the model for the first kind of data that fits it; none if the settings fit no data.
std::optional<Shapes> shapes_of(const std::string& model, const Settings& settings) {
  for (const DataSpec& data : kinds_of_data()) {
    try {
      MetaMode meta;
      const OperatorModeScope scope(meta);
      const auto built = part<ModelKind>(model, settings).build({data});
      Shapes shapes;
      for (const auto& each : built->named_parameters()) shapes[each.key()] = each.value().sizes().vec();
      for (const auto& each : built->named_buffers()) shapes[each.key()] = each.value().sizes().vec();
      return shapes;
    } catch (const std::exception&) {
      continue;
    }
  }
  return std::nullopt;
}

std::vector<Setting> other_values(const FieldInfo& field) {
  using Kind = TypeInfo::Kind;
  const Value* usual = field.default_value ? &*field.default_value : nullptr;
  std::vector<Setting> others;
  switch (field.type.kind) {
    case Kind::boolean: others.emplace_back(!*usual->as<bool>()); break;
    case Kind::integer:
      if (usual) others.emplace_back(2 * *usual->as<std::int64_t>());
      for (const int other : {32, 1}) others.emplace_back(other);
      break;
    case Kind::number:
      if (usual) others.emplace_back(2 * *usual->as<double>());
      others.emplace_back(0.25);
      break;
    case Kind::choice:
      for (const ChoiceInfo& choice : field.type.choices) others.emplace_back(std::string(choice.name));
      break;
    case Kind::list: others.push_back(Setting::list({8, 16, 24, 32})); break;
    case Kind::table:
      others.push_back(
          Setting::table({{"type", "llama3"}, {"factor", 2.0}, {"original_context", 4}}));  // of llama
      break;
    default: break;
  }
  std::erase_if(others, [&](const Setting& other) { return usual && same_data(other.value, *usual); });
  return others;
}

}  // namespace

TEST_CASE("models: a parameter is fixed on resume exactly if the tensors depend on it", "[models]") {
  const Registry registry = Registry::of_linked();
  int checked = 0;
  for (const std::string& name : registry.names("model")) {
    const Descriptor& model = *registry.find("model", name);
    const auto usual = shapes_of(name, {});
    if (!usual) continue;  // one of a test, or a file
    for (const FieldInfo& field : model.own_schema().fields) {
      CAPTURE(name, field.name);
      std::optional<bool> changes;
      for (const Setting& other : other_values(field)) {
        const auto shapes = shapes_of(name, {{std::string(field.name), other}});
        if (shapes) changes = changes.value_or(false) || *shapes != *usual;
      }
      if (!changes) continue;  // no other value fits the data
      ++checked;
      const OnResume mark = field.rules.on_resume == OnResume::unmarked ? model.kind->on_resume.parameters
                                                                        : field.rules.on_resume;
      CHECK((mark == OnResume::fixed) == *changes);
    }
  }
  CHECK(checked > 70);
}
