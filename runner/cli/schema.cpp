#include "runner/describe/json_schema.hpp"

#include <nlohmann/json.hpp>
#include <ostream>

#include "runner/cli/commands.hpp"
#include "runner/describe/json.hpp"
#include "runner/resolve/resolve.hpp"

namespace runner::cli {

namespace {

int schema(const Arguments&, Session& session) {
  session.out << dumped(json_schema(recipe_schema(), session.registry));
  return Exit::done;
}

}  // namespace

Command schema_command() {
  return {.name = "schema",
          .summary = "Print the JSON Schema of recipes, for editors and other tools.",
          .examples = {{"runner schema > recipe.schema.json", "then begin a recipe with the line below"}},
          .run = &schema,
          .details =
              "Editors with TOML support show the documentation of each key and mark mistakes where a recipe "
              "begins with\n"
              "  #:schema recipe.schema.json"};
}

}  // namespace runner::cli
