#include "registry/recipe_error.hpp"

#include <catch2/catch_all.hpp>

using namespace runner;

TEST_CASE("an error that ended the work is shown as check shows one: place, message, line, hints",
          "[diagnostics]") {
  const auto source = std::make_shared<const Source>(Source{Source::Kind::file, "a.toml", "lr = 0.5\n"});
  const RecipeError error({source, 1, 6, 3}, "another recipe\nlr  0.1 -> 0.5\nuse --force");
  CHECK(render(diagnostic_of(error)) ==
        "a.toml:1:6: error: another recipe\n"
        "    1 | lr = 0.5\n"
        "      |      ^^^\n"
        "  lr  0.1 -> 0.5\n"
        "  use --force\n");
}
