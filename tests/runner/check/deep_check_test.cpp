#include "runner/check/deep_check.hpp"

#include <torch/types.h>

#include <catch2/catch_all.hpp>

#include "components/hooks/hook.hpp"
#include "runner/resolve/resolve.hpp"
#include "tests/support/recipes.hpp"

namespace runner {
namespace {

// Remembers what it was built with.
struct Curious {};
constexpr auto describe(std::type_identity<Curious>) { return fields(); }

HookInputs seen;

class CuriousHook final : public Hook {
 public:
  State save() const override { return {}; }
  void load(const State&) override {}
};

std::unique_ptr<Hook> build(const Curious&, const HookInputs& inputs) {
  seen = inputs;
  return std::make_unique<CuriousHook>();
}

const Registration<HookKind> curious{"curious_in_tests", "Remembers its inputs.", &build};

TEST_CASE("hooks of a deep check get what hooks of a run get") {
  const testing::Recipes files(R"(
hook = ["curious_in_tests"]
[model]
name = "mlp"
hidden = [3]
[dataset]
name = "synthetic"
shape = [4]
train = 40
eval = 20
[optimizer]
name = "sgd"
[precision]
name = "fp16"
[run]
device = "cpu"
[train]
max_steps = 1
)");
  Registry registry = Registry::of_linked();
  Diagnostics found;
  const auto resolved = resolve_recipe({files.folder / "main.toml", {}, {}}, registry, found);
  REQUIRE(resolved);
  check_deeply(*resolved, registry);
  CHECK(seen.parameters > 0);
  CHECK(seen.flops_per_example > 0);
  CHECK(seen.device == torch::kCPU);
  CHECK(seen.compute_type == torch::kHalf);
  CHECK(seen.precision_skips);
  CHECK_FALSE(seen.measured.empty());
}

}  // namespace
}  // namespace runner
