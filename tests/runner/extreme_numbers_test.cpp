// Every number that a recipe can hold, from the schema, at and beyond its extremes: refused, or harmless. The
// sanitizers see whether arithmetic overflows on the way.
#include <catch2/catch_all.hpp>
#include <cmath>
#include <functional>
#include <limits>

#include "components/schedulers/support/learning_rate.hpp"
#include "registry/conform.hpp"
#include "runner/plan.hpp"
#include "runner/resolve.hpp"
#include "tests/support/parts.hpp"

namespace runner::testing {
namespace {

using Kind = TypeInfo::Kind;

// The number inside a list, a table or alternatives; none where there is none.
const TypeInfo* number_in(const TypeInfo& type) {
  if (type.kind == Kind::integer || type.kind == Kind::number) return &type;
  if (type.kind == Kind::either) return number_in(type.alternatives.front());
  return type.element ? number_in(*type.element) : nullptr;
}

Value wrapped(const TypeInfo& type, Value number) {
  switch (type.kind) {
    case Kind::either: return wrapped(type.alternatives.front(), std::move(number));
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
             std::vector<NumericField>& found) {
  for (const FieldInfo& field : schema.fields) {
    const std::string own = path + " " + std::string(field.name);
    if (field.type.kind == Kind::table) collect(field.type.schema(), own, nullptr, found);
    if (number_in(field.type)) found.push_back({own, field, component});
  }
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

TEST_CASE("every number of every part has bounds, and what is beyond them is refused", "[extremes]") {
  const auto fields = all_fields();
  REQUIRE(fields.size() > 200);
  for (const auto& [path, field, component] : fields) {
    INFO(path);
    CHECK(std::isfinite(field.rules.low));
    CHECK(std::isfinite(field.rules.high));
    for (const std::int64_t number :
         {std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()}) {
      if (number_in(field.type)->kind == Kind::integer) CHECK_FALSE(accepts(field, whole(number)));
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
  const bool integer = number_in(one.field.type)->kind == Kind::integer;
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

}  // namespace
}  // namespace runner::testing
