#include "registry/build_scope.hpp"

#include <catch2/catch_all.hpp>

#include "tests/support/sample_schema.hpp"

namespace runner {
namespace {

using Catch::Matchers::Message;

struct Whim {};
constexpr auto describe(std::type_identity<Whim>) { return fields(); }

template <class Thrown>
std::unique_ptr<sample::Gadget> throw_it(const Whim&, const sample::GadgetInputs&) {
  throw Thrown{};
}
std::unique_ptr<sample::Gadget> build_nothing(const Whim&, const sample::GadgetInputs&) { return nullptr; }

struct OutOfRange : std::out_of_range {
  OutOfRange() : std::out_of_range("vector::at") {}
};
struct DiskFull : std::runtime_error {
  DiskFull() : std::runtime_error("disk full") {}
};

template <auto build>
std::unique_ptr<sample::Gadget> built_by() {
  static const Registration<sample::GadgetKind> whim{"whim", "Whatever it likes.", build};
  return Part<sample::GadgetKind>(whim.descriptor(), {}, std::make_shared<const Whim>()).build({});
}

}  // namespace

TEST_CASE("Part::build: whatever a component does instead of being built is named", "[registry]") {
  CHECK_THROWS_MATCHES(built_by<&build_nothing>(), RecipeError,
                       Message("gadget \"whim\" could not be built: build() returned nullptr"));
  CHECK_THROWS_MATCHES(built_by<&throw_it<int>>(), RecipeError,
                       Message("gadget \"whim\" could not be built: it threw an exception of type int, which "
                               "is not a std::exception and says nothing more"));
  CHECK_THROWS_MATCHES(built_by<&throw_it<OutOfRange>>(), RecipeError,
                       Message("gadget \"whim\" could not be built: vector::at"));
  CHECK_THROWS_AS(built_by<&throw_it<DiskFull>>(), DiskFull);  // says by its type what it is
}

}  // namespace runner
