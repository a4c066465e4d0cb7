#include "runner/plugins/trusted_code.hpp"

#include <catch2/catch_all.hpp>

#include "runner/resolve/resolve.hpp"
#include "tests/support/recipes.hpp"

using namespace runner;
using namespace runner::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr const char* distilled = R"(
[model]
name = "mlp"
[dataset]
name = "synthetic"
[loss]
name = "distillation"
teacher = { name = "torchscript", file = "../away/teacher.pt", weights = "t.safetensors" }
[optimizer]
name = "sgd"
[train]
max_steps = 1
)";

}  // namespace

// Wherever a recipe names code, also in a part of a part.
TEST_CASE("code that a recipe names has to lie in its folder", "[plugins]") {
  Recipes files;
  files.write("own/main.toml", distilled).write("away/teacher.pt", "x");
  const auto away = files.folder / "away";
  Registry registry = Registry::of_linked();
  const auto problems = [&](std::vector<std::string> overrides,
                            std::map<std::string, std::string> environment,
                            const char* recipe = "own/main.toml") {
    Diagnostics found;
    resolve_recipe({files.folder / recipe, std::move(environment), std::move(overrides)}, registry, found);
    return render(found);
  };
  const auto outside =
      ContainsSubstring("loss.teacher.file names a file of code outside the recipe's folder");
  const auto at_its_line = ContainsSubstring("main.toml:8:");
  CHECK_THAT(problems({}, {}), outside && at_its_line);
  // Not in the folder of a file that the recipe extends either.
  files.write("child/child.toml", "extends = \"../away/main.toml\"\n").write("away/main.toml", distilled);
  CHECK_THAT(problems({}, {}, "child/child.toml"), outside && at_its_line);
  CHECK(problems({}, {}, "away/main.toml").empty());
  CHECK(problems({"loss.teacher.file=" + (away / "teacher.pt").string()}, {}).empty());
  CHECK(problems({}, {{"RUNNER_PLUGIN_PATH", away.string()}}).empty());
  std::filesystem::remove_all(away);
  CHECK(problems({}, {}).empty());  // the component reports that it is missing
  std::string unreachable = distilled;
  unreachable.replace(unreachable.find("../away/teacher.pt"), std::string("../away/teacher.pt").size(),
                      std::string(300, 'x') + ".pt");
  files.write("own/main.toml", unreachable);
  CHECK_NOTHROW(problems({}, {}));
}
