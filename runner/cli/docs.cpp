#include <filesystem>
#include <fstream>
#include <ostream>
#include <stdexcept>

#include "runner/cli/commands.hpp"
#include "runner/describe/markdown.hpp"
#include "runner/resolve.hpp"

namespace runner::cli {

namespace fs = std::filesystem;

namespace {

void write_page(const fs::path& file, const std::string& text) {
  std::ofstream stream(file, std::ios::binary);
  stream << text;
  stream.close();
  if (!stream) throw std::runtime_error("cannot write " + file.string());
}

int docs(const Arguments& arguments, Session& session) {
  const fs::path folder = arguments.has("out") ? arguments.get("out") : "docs";
  std::error_code error;
  fs::create_directories(folder / "components", error);
  if (error)
    throw std::runtime_error("cannot create " + (folder / "components").string() + ": " + error.message());
  for (const KindInfo* kind : session.registry.kinds()) {
    write_page(folder / "components" / (std::string(kind->name) + ".md"),
               kind_page(*kind, recipe_schema(), session.registry));
  }
  write_page(folder / "recipe-reference.md", recipe_page(recipe_schema(), session.registry));
  return Exit::done;
}

}  // namespace

Command docs_command() {
  return {.name = "docs",
          .summary = "Write the reference pages of all components and sections, as Markdown.",
          .options = {{.name = "out",
                       .doc = "The folder they go to; docs where not given.",
                       .value = "DIR",
                       .word = Word::file}},
          .examples = {{"runner docs", "brings docs/components/ and docs/recipe-reference.md up to date"}},
          .run = &docs,
          .hidden = true};
}

}  // namespace runner::cli
