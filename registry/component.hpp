#pragma once

#include <cstdint>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <typeinfo>

#include "registry/build_scope.hpp"
#include "registry/codec.hpp"
#include "registry/diagnostics.hpp"
#include "registry/part_settings.hpp"
#include "registry/schema.hpp"

namespace runner {

// A kind of component is a struct declared once, beside the contract of what it builds:
//   struct OptimizerKind {
//     static constexpr std::string_view name = "optimizer";
//     static constexpr std::string_view summary = "Updates the weights from the gradients.";
//     using Product = Optimizer;       // the contract
//     using Inputs = OptimizerInputs;  // what a build gets at run time, beside its own parameters
//     using Common = ..;               // optional: parameters that every component of the kind takes
//     using Facts = ..;                // optional: what is known about a part before it is built
//     static constexpr KindOnResume on_resume{..};  // optional: the effect of changes on a resumed run
//   };
template <class K>
concept Kind = requires {
  std::string_view{K::name};
  std::string_view{K::summary};
  typename K::Product;
  typename K::Inputs;
};

// For a run that is resumed: the effect of replacing the component by another one, and of changing a
// parameter that has no mark of its own.
struct KindOnResume {
  OnResume part = OnResume::course;
  OnResume parameters = OnResume::course;
};

// Increased with every change to a type or function that a plugin shares with the program.
inline constexpr std::uint32_t interface_version = 7;

struct KindInfo {
  std::string_view name;
  std::string_view summary;
  const Schema& (*common)();
  KindOnResume on_resume;
  // Sizes of the types that a component and its user exchange. Libraries compiled with others are rejected.
  std::uint32_t product_size, inputs_size, common_size, facts_size;

  bool same_layout(const KindInfo& other) const {
    return product_size == other.product_size && inputs_size == other.inputs_size &&
           common_size == other.common_size && facts_size == other.facts_size;
  }
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
constexpr KindOnResume on_resume_of() {
  if constexpr (requires { K::on_resume; }) {
    return K::on_resume;
  } else {
    return {};
  }
}

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

// What a component states about itself in `Facts facts(const Parameters&)`, next to its `build`, from its
// parameters alone. Without this function the kind's defaults apply.
template <Kind K>
using ComponentFacts = typename detail::FactsOf<K>::Type;

template <Kind K>
using CommonParameters = typename detail::CommonOf<K>::Type;

template <Kind K>
inline constexpr KindInfo kind_info{K::name,
                                    K::summary,
                                    &schema_of<CommonParameters<K>>,
                                    detail::on_resume_of<K>(),
                                    sizeof(typename K::Product),
                                    sizeof(typename K::Inputs),
                                    sizeof(CommonParameters<K>),
                                    sizeof(ComponentFacts<K>)};

// A file with components that was loaded at run time.
struct Library {
  std::string path;
  std::string sha256;
};

// One registered component with its types erased. Registering only links it into a list, before main.
struct Descriptor {
  // These two always come first: they are checked before anything else is read.
  std::uint32_t interface = interface_version;
  std::uint32_t size = sizeof(Descriptor);

  const KindInfo* kind;
  std::string_view name;  // "focal", or "focal@2" if an earlier version is still available
  std::string_view summary;
  std::source_location where;
  const Schema& (*own_schema)();  // its own parameters
  std::shared_ptr<const void> (*decode)(const Value& conformed,
                                        const Registry& registry);  // into its own type
  Value (*encode)(const void* parameters);                          // and back
  void (*build)();                                                  // the component's function
  void (*call_build)();  // a Caller of its kind, which knows the types of `build`
  void (*call_facts)();  // likewise for its facts
  const Descriptor* next = nullptr;
  const Library* library = nullptr;  // null: part of the program

  Schema schema() const;  // its own parameters and then those common to its kind
};

void link(Descriptor& descriptor);

// const Registration<OptimizerKind> sgd{"sgd", "SGD with momentum.", &build};
template <Kind K>
class Registration {
 public:
  using Product = typename K::Product;
  using Inputs = typename K::Inputs;
  using Caller = std::unique_ptr<Product> (*)(void (*build)(), const void* parameters, const Inputs& inputs);
  using FactsCaller = ComponentFacts<K> (*)(const void* parameters);

  template <class Parameters>
  Registration(std::string_view name, std::string_view summary,
               std::unique_ptr<Product> (*build)(const Parameters&, const Inputs&),
               std::source_location where = std::source_location::current())
      : descriptor_{.kind = &kind_info<K>,
                    .name = name,
                    .summary = summary,
                    .where = where,
                    .own_schema = &schema_of<Parameters>,
                    .decode = &decode<Parameters>,
                    .encode = &encode<Parameters>,
                    .build = reinterpret_cast<void (*)()>(build),
                    .call_build = reinterpret_cast<void (*)()>(static_cast<Caller>(&call<Parameters>)),
                    .call_facts = reinterpret_cast<void (*)()>(static_cast<FactsCaller>(&ask<Parameters>))} {
    link(descriptor_);
  }
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;

  const Descriptor& descriptor() const { return descriptor_; }

 private:
  template <class Parameters>
  static std::shared_ptr<const void> decode(const Value& value, const Registry& registry) {
    return std::make_shared<const Parameters>(decode_table<Parameters>(value, registry));
  }
  template <class Parameters>
  static Value encode(const void* parameters) {
    return encode_table(*static_cast<const Parameters*>(parameters));
  }
  template <class Parameters>
  static std::unique_ptr<Product> call(void (*build)(), const void* parameters, const Inputs& inputs) {
    using Build = std::unique_ptr<Product> (*)(const Parameters&, const Inputs&);
    return reinterpret_cast<Build>(build)(*static_cast<const Parameters*>(parameters), inputs);
  }
  template <class Parameters>
  static ComponentFacts<K> ask([[maybe_unused]] const void* parameters) {
    if constexpr (requires(const Parameters& own) { facts(own); }) {
      return facts(*static_cast<const Parameters*>(parameters));
    } else {
      return {};
    }
  }

  Descriptor descriptor_;
};

// A component that a recipe names, with its parameters decoded: it can be built as soon as its inputs exist.
// One written in code, Part<ModelKind>("mlp", {{"hidden", 64}}), is checked and decoded with the recipe it is
// in.
template <Kind K>
class Part {
 public:
  Part() = default;
  Part(const char* default_name)
      : name_(default_name) {}  // NOLINT: a default reads Part<LossKind> loss = "mse"
  Part(std::string name, const PartSettings& settings)
      : name_(std::move(name)), settings_(table_of(settings)) {}
  Part(const Descriptor& descriptor, CommonParameters<K> common_, std::shared_ptr<const void> parameters,
       Origin origin = {})
      : common(std::move(common_)),
        name_(descriptor.name),
        descriptor_(&descriptor),
        parameters_(std::move(parameters)),
        origin_(std::move(origin)) {}

  bool has_default() const { return !name_.empty(); }
  const std::string& name() const { return name_; }
  Value encode() const;                             // the name and the settings
  const Origin& origin() const { return origin_; }  // the place in the recipe that names it

  // Throws RecipeError, with the place in the recipe, if the component returns nothing or throws
  // std::runtime_error (its parameters do not fit its inputs), a logic error or something that is
  // not a std::exception. Exceptions of other types, such as DataError, are passed on.
  std::unique_ptr<typename K::Product> build(const typename K::Inputs& inputs) const {
    const auto call = reinterpret_cast<typename Registration<K>::Caller>(descriptor_->call_build);
    const BuildScope scope(K::name, name_);
    try {
      if (auto product = call(descriptor_->build, parameters_.get(), inputs)) return product;
    } catch (const std::runtime_error& error) {
      if (typeid(error) != typeid(std::runtime_error)) throw;
      throw RecipeError(origin_, error.what());
    } catch (const std::logic_error& error) {
      throw scope.failure(origin_, error.what());
    } catch (const std::exception&) {
      throw;
    } catch (...) {
      throw scope.failure(
          origin_, "it threw " + thrown_type() + ", which is not a std::exception and says nothing more");
    }
    throw scope.failure(origin_, "build() returned nullptr");
  }

  ComponentFacts<K> facts() const {
    return reinterpret_cast<typename Registration<K>::FactsCaller>(descriptor_->call_facts)(
        parameters_.get());
  }

  CommonParameters<K> common{};  // what every component of the kind takes

 private:
  std::string name_;
  Table settings_;  // written in code, not decoded yet
  const Descriptor* descriptor_ = nullptr;
  std::shared_ptr<const void> parameters_;
  Origin origin_;
};

// The facts of a component with its default parameters.
template <Kind K>
ComponentFacts<K> facts_of(const Descriptor& descriptor, const Registry& registry) {
  const auto call = reinterpret_cast<typename Registration<K>::FactsCaller>(descriptor.call_facts);
  return call(descriptor.decode(Value(), registry).get());
}

template <Kind K>
Value Part<K>::encode() const {
  Table table;
  table.set("name", Value(Value::Data(name_)));
  const auto add = [&](const Value& members) {
    for (const Member& member : *members.template as<Table>()) table.set(member.key, member.value);
  };
  add(descriptor_ ? descriptor_->encode(parameters_.get()) : Value(Value::Data(settings_)));
  // Parameters common to the kind have their defaults in every part; only those that differ were set.
  const Value defaults = encode_table(CommonParameters<K>{}), own = encode_table(common);
  for (const Member& member : *own.template as<Table>()) {
    const Value* usual = defaults.template as<Table>()->find(member.key);
    if (!usual || !same_data(*usual, member.value)) table.set(member.key, member.value);
  }
  return Value(Value::Data(std::move(table)));
}

const Descriptor& find_component(const Registry& registry, std::string_view kind, std::string_view name);
// The same, before building: throws if the component was compiled with other types than those of `kind`.
const Descriptor& find_component(const Registry& registry, const KindInfo& kind, std::string_view name);

template <Kind K>
struct Codec<Part<K>> {
  static TypeInfo type() {
    TypeInfo type{TypeInfo::Kind::part};
    type.part_kind = K::name;
    return type;
  }
  static Part<K> decode(const Value& value, const Registry& registry) {
    const std::string& name = *value.as<Table>()->find("name")->as<std::string>();
    const Descriptor& descriptor = find_component(registry, kind_info<K>, name);
    return {descriptor, decode_table<CommonParameters<K>>(value, registry),
            descriptor.decode(value, registry), value.origin};
  }
  static Value encode(const Part<K>& part) { return part.encode(); }
};

}  // namespace runner
