#pragma once

#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <typeinfo>

#include "registry/codec.hpp"
#include "registry/diagnostics.hpp"
#include "registry/recipe_error.hpp"
#include "registry/schema.hpp"

namespace runner {

// A kind of component is a struct declared once, beside the contract of what it builds:
//   struct OptimizerKind {
//     static constexpr std::string_view name = "optimizer";
//     static constexpr std::string_view summary = "Updates the weights from the gradients.";
//     using Product = Optimizer;       // the contract
//     using Inputs = OptimizerInputs;  // what a build gets at run time, beside its own parameters
//     using Common = ..;               // optional: parameters that every component of the kind takes
//     using Facts = ..;                // optional: what is known of a part before it is built
//   };
template <class K>
concept Kind = requires {
  std::string_view{K::name};
  std::string_view{K::summary};
  typename K::Product;
  typename K::Inputs;
};

struct KindInfo {
  std::string_view name;
  std::string_view summary;
  const Schema& (*common)();
};

struct NoCommon {};
constexpr auto describe(std::type_identity<NoCommon>) { return fields(); }

namespace detail {
template <class K>
struct CommonOf {
  using Type = NoCommon;
};
template <class K>
  requires requires { typename K::Common; }
struct CommonOf<K> {
  using Type = typename K::Common;
};
}  // namespace detail

struct NoFacts {};

namespace detail {
template <class K>
struct FactsOf {
  using Type = NoFacts;
};
template <class K>
  requires requires { typename K::Facts; }
struct FactsOf<K> {
  using Type = typename K::Facts;
};
}  // namespace detail

// What a component says of itself in `Facts facts(const Params&)`, beside its `build`, from its parameters
// alone; the kind's defaults where it has no such function.
template <Kind K>
using ComponentFacts = typename detail::FactsOf<K>::Type;

template <Kind K>
using CommonParameters = typename detail::CommonOf<K>::Type;

template <Kind K>
inline constexpr KindInfo kind_info{K::name, K::summary, &schema_of<CommonParameters<K>>};

// One registered component with its types erased; linked into a list before main, and nothing more.
struct Descriptor {
  const KindInfo* kind;
  std::string_view name;
  std::string_view summary;
  std::source_location where;
  const Schema& (*own_schema)();  // its own parameters
  std::shared_ptr<const void> (*decode)(const Value& conformed,
                                        const Registry& registry);  // into its own type
  void (*build)();                                                  // the component's function
  void (*call_build)();  // a Caller of its kind, which knows the types behind `build`
  void (*call_facts)();  // likewise for its facts
  const Descriptor* next;

  Schema schema() const;  // its own parameters and then those common to its kind
};

void link(Descriptor& descriptor);

// const Registration<OptimizerKind> sgd{"sgd", "SGD with momentum.", &build};
template <Kind K>
class Registration {
 public:
  using Product = typename K::Product;
  using Inputs = typename K::Inputs;
  using Caller = std::unique_ptr<Product> (*)(void (*build)(), const void* params, const Inputs& inputs);
  using FactsCaller = ComponentFacts<K> (*)(const void* params);

  template <class Params>
  Registration(std::string_view name, std::string_view summary,
               std::unique_ptr<Product> (*build)(const Params&, const Inputs&),
               std::source_location where = std::source_location::current())
      : descriptor_{&kind_info<K>,
                    name,
                    summary,
                    where,
                    &schema_of<Params>,
                    &decode<Params>,
                    reinterpret_cast<void (*)()>(build),
                    reinterpret_cast<void (*)()>(static_cast<Caller>(&call<Params>)),
                    reinterpret_cast<void (*)()>(static_cast<FactsCaller>(&ask<Params>)),
                    nullptr} {
    link(descriptor_);
  }
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;

  const Descriptor& descriptor() const { return descriptor_; }

 private:
  template <class Params>
  static std::shared_ptr<const void> decode(const Value& value, const Registry& registry) {
    return std::make_shared<const Params>(decode_table<Params>(value, registry));
  }
  template <class Params>
  static std::unique_ptr<Product> call(void (*build)(), const void* params, const Inputs& inputs) {
    using Build = std::unique_ptr<Product> (*)(const Params&, const Inputs&);
    return reinterpret_cast<Build>(build)(*static_cast<const Params*>(params), inputs);
  }
  template <class Params>
  static ComponentFacts<K> ask([[maybe_unused]] const void* params) {
    if constexpr (requires(const Params& own) { facts(own); }) {
      return facts(*static_cast<const Params*>(params));
    } else {
      return {};
    }
  }

  Descriptor descriptor_;
};

// A component that a recipe names, with its parameters decoded: ready to be built once its inputs exist.
template <Kind K>
class Part {
 public:
  Part() = default;
  Part(const char* default_name)
      : name_(default_name) {}  // NOLINT: a default reads Part<LossKind> loss = "mse"
  Part(const Descriptor& descriptor, CommonParameters<K> common_, std::shared_ptr<const void> params,
       Origin origin = {})
      : common(std::move(common_)),
        name_(descriptor.name),
        descriptor_(&descriptor),
        params_(std::move(params)),
        origin_(std::move(origin)) {}

  bool has_default() const { return !name_.empty(); }
  const std::string& name() const { return name_; }
  const Origin& origin() const { return origin_; }  // where the recipe says so

  // A std::runtime_error that the component throws means that its parameters do not suit its inputs, and
  // comes back as a RecipeError; errors with a type of their own, such as DataError, pass as they are.
  std::unique_ptr<typename K::Product> build(const typename K::Inputs& inputs) const {
    const auto call = reinterpret_cast<typename Registration<K>::Caller>(descriptor_->call_build);
    try {
      return call(descriptor_->build, params_.get(), inputs);
    } catch (const std::runtime_error& error) {
      if (typeid(error) != typeid(std::runtime_error)) throw;
      throw RecipeError(origin_, error.what());
    }
  }

  ComponentFacts<K> facts() const {
    return reinterpret_cast<typename Registration<K>::FactsCaller>(descriptor_->call_facts)(params_.get());
  }

  CommonParameters<K> common{};  // what every component of the kind takes

 private:
  std::string name_;
  const Descriptor* descriptor_ = nullptr;
  std::shared_ptr<const void> params_;
  Origin origin_;
};

// What a component says of itself with its default parameters.
template <Kind K>
ComponentFacts<K> facts_of(const Descriptor& descriptor, const Registry& registry) {
  const auto call = reinterpret_cast<typename Registration<K>::FactsCaller>(descriptor.call_facts);
  return call(descriptor.decode(Value(), registry).get());
}

const Descriptor& find_component(const Registry& registry, std::string_view kind, std::string_view name);

template <Kind K>
struct Codec<Part<K>> {
  static TypeInfo type() {
    TypeInfo type{TypeInfo::Kind::part};
    type.part_kind = K::name;
    return type;
  }
  static Part<K> decode(const Value& value, const Registry& registry) {
    const std::string& name = *value.as<Table>()->find("name")->as<std::string>();
    const Descriptor& descriptor = find_component(registry, K::name, name);
    return {descriptor, decode_table<CommonParameters<K>>(value, registry),
            descriptor.decode(value, registry), value.origin};
  }
  static Value encode(const Part<K>& part) {
    Table table;
    table.set("name", Value(Value::Data(part.name())));
    return Value(Value::Data(std::move(table)));
  }
};

}  // namespace runner
