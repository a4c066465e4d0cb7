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

TEST_CASE("registry: a name is the newest version, and every version has a name", "[registry]") {
  static const Registration<sample::GadgetKind> first{"turn@1", "First.", &sample::build_plain};
  static const Registration<sample::GadgetKind> tenth{"turn@10", "Tenth.", &sample::build_plain};
  static const Registration<sample::GadgetKind> second{"turn@2", "Second.", &sample::build_plain};
  static const Registration<sample::GadgetKind> other{"turns", "Another.", &sample::build_plain};
  const Registry registry(
      {&first.descriptor(), &tenth.descriptor(), &second.descriptor(), &other.descriptor()});
  CHECK(registry.conflicts().empty());
  const auto summary = [&](const char* name) {
    const Descriptor* found = registry.find("gadget", name);
    return found ? std::string(found->summary) : "none";
  };
  CHECK(summary("turn") == "Tenth.");
  CHECK(summary("turn@1") == "First.");
  CHECK(summary("turn@2") == "Second.");
  CHECK(summary("turn@3") == "none");
  CHECK(summary("turn@") == "none");
  CHECK(summary("turn@x") == "none");
  CHECK(summary("turns") == "Another.");
  CHECK(registry.names("gadget") == std::vector<std::string>{"turn", "turns", "turn@1", "turn@2"});
  CHECK(registry.spellings(tenth.descriptor()) == std::vector<std::string>{"turn", "turn@10"});
  CHECK(registry.spellings(second.descriptor()) == std::vector<std::string>{"turn@2"});
  CHECK(pinned_name(tenth.descriptor()) == "turn@10");
  CHECK(pinned_name(other.descriptor()) == "turns");
}

TEST_CASE("registry: a name registered without a version keeps its meaning when versions are added",
          "[registry]") {
  static const Registration<sample::GadgetKind> first{"spin", "First.", &sample::build_plain};
  static const Registration<sample::GadgetKind> second{"spin@2", "Second.", &sample::build_plain};
  const Registry before({&first.descriptor()}), later({&first.descriptor(), &second.descriptor()});
  const std::string saved = pinned_name(*before.find("gadget", "spin"));
  CHECK(later.find("gadget", saved) == &first.descriptor());
  CHECK(later.find("gadget", "spin@1") == &first.descriptor());
  CHECK(later.find("gadget", "spin@2") == &second.descriptor());
  CHECK(pinned_name(second.descriptor()) == "spin@2");
  CHECK(later.names("gadget") == std::vector<std::string>{"spin", "spin@2"});
  CHECK(later.spellings(first.descriptor()) == std::vector<std::string>{"spin"});
  CHECK(later.spellings(second.descriptor()) == std::vector<std::string>{"spin@2"});
}

TEST_CASE("registry: a version that is no number, or that is there twice, is reported", "[registry]") {
  static const Registration<sample::GadgetKind> bad{"wheel@new", "Bad.", &sample::build_plain};
  CHECK_THAT(Registry({&bad.descriptor()}).conflicts().at(0),
             ContainsSubstring("has no version after its @"));
  static const Registration<sample::GadgetKind> one{"wheel@1", "One.", &sample::build_plain};
  static const Registration<sample::GadgetKind> same{"wheel", "The same.", &sample::build_plain};
  CHECK_THAT(Registry({&one.descriptor(), &same.descriptor()}).conflicts().at(0),
             ContainsSubstring("is registered twice"));
}

TEST_CASE("registry: what a library brings is known by it, and pinned in a recipe", "[registry]") {
  static const Library library{"/plugins/libgear.so", "abc"};
  const Loading loading(library);
  static const Registration<sample::GadgetKind> gear{"gear", "Of a library.", &sample::build_plain};
  CHECK(loading.registered() == 1);
  const Registry registry({&gear.descriptor(), &sample::plain.descriptor()});
  CHECK(registry.libraries() == std::vector<const Library*>{&library});
  CHECK(pinned_name(gear.descriptor()) == "gear@1");
  CHECK(registry.spellings(gear.descriptor()) == std::vector<std::string>{"gear", "gear@1"});
  CHECK(pinned_name(sample::plain.descriptor()) == "plain");
}

TEST_CASE("registry: what was compiled against other headers is not believed", "[registry]") {
  SECTION("another interface version") {
    static const Library library{"/plugins/libold.so", "abc"};
    const Loading loading(library);
    Descriptor old = sample::plain.descriptor();
    old.interface = interface_version + 1;
    link(old);
    CHECK(loading.refused() == 1);
    CHECK(loading.registered() == 0);
  }
  SECTION("a kind of another layout") {
    KindInfo grown = kind_info<sample::GadgetKind>;
    grown.inputs_size += 8;
    Descriptor descriptor = sample::plain.descriptor();
    descriptor.kind = &grown;
    descriptor.name = "grown";
    const Registry registry({&descriptor, &sample::tuned.descriptor()});
    REQUIRE(registry.conflicts().size() == 1);
    CHECK_THAT(registry.conflicts().front(), ContainsSubstring("compiled from different headers"));
    CHECK_THROWS_WITH(find_component(registry, kind_info<sample::GadgetKind>, "grown"),
                      ContainsSubstring("was compiled from other headers than its user"));
  }
}

}  // namespace runner
