#include <catch2/catch_all.hpp>

#include "tests/runner/cli/program.hpp"
#include "tests/support/files.hpp"
#include "tests/support/temporary_folder.hpp"

namespace runner::testing {
namespace {

using Catch::Matchers::ContainsSubstring;

TEST_CASE("data: a page replaces pages, not the recipe or the data", "[cli]") {
  const TemporaryFolder folder;
  const std::string text = R"(model = "mlp"
dataset = { name = "synthetic", train = 4, eval = 4 }
optimizer = "sgd"
train = { epochs = 1 }
)";
  const auto recipe = write_file(folder / "recipe.toml", text);
  const auto examine = [&](const char* output) {
    return Program{}.run({"data", recipe, "-o", (folder / output).string()});
  };
  for (int time = 0; time < 2; ++time) CHECK(examine("page.html").code == 0);
  CHECK_THAT(read_text(folder / "page.html"), Catch::Matchers::StartsWith("<!doctype html>"));
  const Outcome refused = examine("recipe.toml");
  CHECK(refused.code == 2);
  CHECK_THAT(refused.err, ContainsSubstring("recipe.toml exists and is not an HTML page"));
  CHECK(read_text(recipe) == text);
}

}  // namespace
}  // namespace runner::testing
