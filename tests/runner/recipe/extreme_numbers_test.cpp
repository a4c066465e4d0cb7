// Every number that a recipe can hold, from the schema, at and beyond its extremes: refused, or harmless. The
// sanitizers see whether arithmetic overflows on the way.
#include <catch2/catch_all.hpp>
#include <cmath>
#include <functional>
#include <limits>

#include "components/models/model.hpp"
#include "components/schedulers/learning_rate.hpp"
#include "components/torch/meta_mode.hpp"
#include "components/transforms/transform.hpp"
#include "registry/base/arithmetic.hpp"
#include "registry/conform.hpp"
#include "runner/recipe/parts.hpp"
#include "runner/recipe/plan.hpp"
#include "runner/resolve/resolve.hpp"
#include "tests/support/decoded_recipe.hpp"
#include "tests/support/parts.hpp"

namespace runner::testing {
namespace {

using Kind = TypeInfo::Kind;

bool is_numeric(const TypeInfo& type) {
  return type.kind == Kind::integer || type.kind == Kind::number || type.kind == Kind::duration ||
         type.kind == Kind::size;
}

// What is inside lists and tables of values.
const TypeInfo& innermost(const TypeInfo& type) {
  const bool holds_values = type.kind == Kind::list || type.kind == Kind::map;
  return holds_values ? innermost(*type.element) : type;
}

Value wrapped(const TypeInfo& type, Value number) {
  switch (type.kind) {
    case Kind::list: return Value(Value::Data(Array{wrapped(*type.element, std::move(number))}));
    case Kind::map: {
      Table table;
      table.set("key", wrapped(*type.element, std::move(number)));
      return Value(Value::Data(std::move(table)));
    }
    default: return number;
  }
}

struct NumericField {
  std::string path;  // "optimizer sgd lr"
  FieldInfo field;
  const Descriptor* component = nullptr;  // none: of a section
};

void collect(const Schema& schema, const std::string& path, const Descriptor* component,
             std::vector<NumericField>& found);

void collect(FieldInfo field, const std::string& path, const Descriptor* component,
             std::vector<NumericField>& found) {
  const TypeInfo inner = innermost(field.type);
  if (inner.kind == Kind::table) collect(inner.schema(), path, nullptr, found);
  if (is_numeric(inner)) found.push_back({path, field, component});
  for (const TypeInfo& alternative : inner.alternatives) {
    field.type = alternative;
    collect(field, path, component, found);
  }
}

void collect(const Schema& schema, const std::string& path, const Descriptor* component,
             std::vector<NumericField>& found) {
  for (const FieldInfo& field : schema.fields)
    collect(field, path + " " + std::string(field.name), component, found);
}

std::vector<NumericField> all_fields() {
  static const Registry registry = Registry::of_linked();
  std::vector<NumericField> found;
  collect(recipe_schema(), "", nullptr, found);
  for (const KindInfo* kind : registry.kinds()) {
    for (const Descriptor* component : registry.of_kind(kind->name))
      collect(component->schema(), std::string(kind->name) + " " + std::string(component->name), component,
              found);
  }
  return found;
}

bool accepts(const FieldInfo& field, Value number) {
  static const Registry registry = Registry::of_linked();
  Schema alone;
  alone.fields = {field};
  alone.fields.front().rules.required = false;
  Table table;
  table.set(std::string(field.name), wrapped(field.type, std::move(number)));
  Diagnostics diagnostics;
  conform(Value(Value::Data(std::move(table))), alone, registry, diagnostics);
  return diagnostics.ok();
}

Value whole(std::int64_t number) { return Value(Value::Data(number)); }
Value real(double number) { return Value(Value::Data(number)); }
Value text(std::string words) { return Value(Value::Data(std::move(words))); }

TEST_CASE("every number of every part has bounds, and what is beyond them is refused", "[extremes]") {
  const auto fields = all_fields();
  REQUIRE(fields.size() > 300);
  for (const auto& [path, field, component] : fields) {
    INFO(path);
    const Kind kind = innermost(field.type).kind;
    if (kind == Kind::duration || kind == Kind::size) {
      for (const char* unit : {"ep", "step", "s", "h", "run", "B", "GB", "TiB"}) {
        for (const char* number : {"1e300", "-1e300", "1e400", "nan", "inf", "99999999999999999999"})
          CHECK_FALSE(accepts(field, text(std::string(number) + unit)));
      }
      continue;
    }
    CHECK(std::isfinite(field.rules.low));
    CHECK(std::isfinite(field.rules.high));
    for (const std::int64_t number :
         {std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()}) {
      if (kind == Kind::integer) CHECK_FALSE(accepts(field, whole(number)));
    }
    for (const double number :
         {1e300, -1e300, std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
          std::numeric_limits<double>::quiet_NaN()})
      CHECK_FALSE(accepts(field, real(number)));
  }
}

// The field at one of its bounds and everything else as it is by itself; none where the component's own rules
// refuse that, or where it needs more than its defaults.
template <runner::Kind K>
std::optional<Part<K>> at_bound(const NumericField& one, double bound) {
  const Kind kind = innermost(one.field.type).kind;
  if (kind != Kind::integer && kind != Kind::number) return std::nullopt;
  const bool integer = kind == Kind::integer;
  Value value = wrapped(one.field.type, integer ? whole(static_cast<std::int64_t>(bound)) : real(bound));
  try {
    return part<K>(std::string(one.component->name),
                   {{std::string(one.field.name), Setting(std::move(value))}});
  } catch (const std::invalid_argument&) {
    return std::nullopt;
  }
}

template <runner::Kind K>
void build_all(const std::function<void(const Part<K>&)>& use) {
  int built = 0;
  for (const NumericField& one : all_fields()) {
    if (!one.component || one.component->kind->name != K::name) continue;
    for (const double bound : {one.field.rules.low, one.field.rules.high}) {
      const auto made = at_bound<K>(one, bound);
      if (!made) continue;
      INFO(one.path << " = " << bound);
      ++built;
      try {
        made->facts();
        use(*made);
      } catch (const std::exception&) {
        SUCCEED("refused with a reason");
      }
    }
  }
  CHECK(built > 4);
}

TEST_CASE("parts at the extremes of their numbers are built or refused", "[extremes]") {
  SECTION("schedulers") {
    build_all<SchedulerKind>([](const Part<SchedulerKind>& part) {
      const LearningRate rate(part, 1000, 10, {{"eval/loss", Better::min}});
      for (const std::int64_t step : {0L, 1L, 500L, 999L, 1L << 40}) rate.factor(step);
    });
  }
  SECTION("losses") {
    build_all<LossKind>([](const Part<LossKind>& part) {
      const auto loss = part.build({{.classes = 3}});
      loss->weight({torch::zeros({2, 3}), torch::tensor({0, 2})});
    });
  }
  SECTION("metrics") {
    build_all<MetricKind>([](const Part<MetricKind>& part) {
      const auto metric = part.build({{.classes = 3}});
      metric->reset();
      metric->update(torch::zeros({2, 3}), {torch::zeros({2, 3}), torch::tensor({0, 2})});
      metric->compute();
    });
  }
  SECTION("optimizers") {
    build_all<OptimizerKind>([](const Part<OptimizerKind>& part) {
      torch::Tensor weight = torch::ones({2, 2}, torch::requires_grad());
      weight.mutable_grad() = torch::ones({2, 2});
      part.build({{{{"weight"}, {weight}}}})->step(1.0);
    });
  }
}

TEST_CASE("models and transforms at the extremes of their numbers are built or refused", "[extremes]") {
  const DataSpec image{.input_shape = {3, 8, 8}, .classes = 3, .images = true};
  const DataSpec row{.input_shape = {8}, .classes = 3};
  const DataSpec tokens{.input_shape = {8}, .input_type = torch::kInt64, .classes = 3, .vocabulary = 16};
  SECTION("models, without memory") {
    build_all<ModelKind>([&](const Part<ModelKind>& part) {
      for (const DataSpec& data : {image, row, tokens}) {
        constexpr std::int64_t most_tensors = 500;
        MetaMode meta(most_tensors);
        const OperatorModeScope scope(meta);
        try {
          part.build({data});
        } catch (const std::exception&) {
          SUCCEED("refused with a reason");
        }
      }
    });
  }
  SECTION("transforms") {
    build_all<TransformKind>([&](const Part<TransformKind>& part) { part.build({image})->output(image); });
  }
}

TEST_CASE("how long a run is can be worked out for any settings", "[extremes]") {
  TrainSection train;
  for (const double epochs : {1e-30, 1.0, 1e9}) {
    for (const std::int64_t batch : {1L, 1L << 24}) {
      for (const std::int64_t accumulation : {1L, 1'000'000L}) {
        for (const std::int64_t samples : {1L, 60'000L, 1'000'000'000L}) {
          train.epochs = epochs;
          train.accumulation_steps = accumulation;
          const Plan plan = make_plan(train, batch, samples);
          CHECK(plan.total_steps >= 1);
          CHECK(plan.steps_per_epoch >= 1);
        }
      }
    }
  }
}

TEST_CASE("products of settings do not overflow", "[extremes]") {
  const Recipes files(R"(
[model]
name = "mlp"
[dataset]
name = "synthetic"
shape = [4]
train = 40
eval = 20
[optimizer]
name = "sgd"
[train]
max_steps = 1
)");
  const Recipe recipe = decoded_recipe(files, {"loader.overfit_batches=1000000", "loader.batch_size=16777216",
                                               "train.accumulation_steps=1000000"});
  CHECK(open_data(recipe).eval->size() == 40);
  CHECK(saturating_product(1L << 40, 1L << 40) > 1L << 59);
  CHECK(saturating_product(1L << 40, 1L << 40) * 7 > 0);
  CHECK(saturating_product(6, 7) == 42);
}

}  // namespace
}  // namespace runner::testing
