#include "registry/registry.hpp"

#include <catch2/catch_all.hpp>

#include "tests/support/sample_schema.hpp"

namespace runner {
namespace {

using Catch::Matchers::ContainsSubstring;

struct Clash {
  bool strict = false;
};
constexpr auto describe(std::type_identity<Clash>) {
  return fields(field("strict", &Clash::strict, "Hides."));
}
std::unique_ptr<sample::Gadget> build(const Clash&, const sample::GadgetInputs&) { return nullptr; }

}  // namespace

TEST_CASE("registry: components are found by kind and name, in order", "[registry]") {
  const Registry registry = sample::registry();
  CHECK(registry.conflicts().empty());
  CHECK(registry.names("gadget") == std::vector<std::string>{"nested", "plain", "tuned"});
  CHECK(registry.find("gadget", "tuned")->summary == "Much to set.");
  CHECK(registry.find("gadget", "tune") == nullptr);
  CHECK(registry.find("gizmo", "tuned") == nullptr);
  CHECK(registry.names("gizmo").empty());
  REQUIRE(registry.kinds().size() == 1);
  CHECK(registry.kinds().front()->name == "gadget");
}

TEST_CASE("registry: a component's schema ends with what is common to its kind", "[registry]") {
  const Schema schema = sample::registry().find("gadget", "tuned")->schema();
  CHECK(schema.names() == std::vector<std::string>{"lr", "momentum", "nesterov", "token", "strict", "level"});
}

TEST_CASE("registry: what is linked registers itself", "[registry]") {
  CHECK(Registry::of_linked().find("gadget", "nested") != nullptr);
}

TEST_CASE("registry: a name taken twice is reported with both places", "[registry]") {
  const int first_line = __LINE__ + 1;
  static const Registration<sample::GadgetKind> first{"twice", "One.", &sample::build_plain};
  static const Registration<sample::GadgetKind> second{"twice", "Two.", &sample::build_plain};
  const Registry registry({&first.descriptor(), &sample::plain.descriptor(), &second.descriptor()});
  REQUIRE(registry.conflicts().size() == 1);
  const std::string& conflict = registry.conflicts().front();
  CHECK_THAT(conflict, ContainsSubstring("the gadget \"twice\" is registered twice"));
  CHECK_THAT(conflict, ContainsSubstring("registry_test.cpp:" + std::to_string(first_line)));
  CHECK_THAT(conflict, ContainsSubstring("registry_test.cpp:" + std::to_string(first_line + 1)));
}

TEST_CASE("registry: a parameter that hides a common one is reported", "[registry]") {
  static const Registration<sample::GadgetKind> clash{"clash", "Hides.", &build};
  const Registry registry({&clash.descriptor()});
  REQUIRE(registry.conflicts().size() == 1);
  CHECK_THAT(registry.conflicts().front(),
             ContainsSubstring("has a parameter \"strict\" that every component"));
}

}  // namespace runner
