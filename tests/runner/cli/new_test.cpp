#include <catch2/catch_all.hpp>

#include "tests/runner/cli/program.hpp"
#include "tests/support/files.hpp"
#include "tests/support/temporary_folder.hpp"

namespace runner::testing {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::ContainsSubstring;

std::string shipped(const std::string& name) {
  return (source_folder() / "recipes" / (name + ".toml")).string();
}

TEST_CASE("a new recipe is right, and means what its template means", "[cli]") {
  const TemporaryFolder folder;
  const Program program;
  for (const auto& entry : fs::directory_iterator(source_folder() / "recipes")) {
    if (entry.path().extension() != ".toml") continue;
    INFO(entry.path());
    const fs::path file = folder / entry.path().filename().string();
    const Outcome made = program.run({"new", entry.path().string(), "-o", file.string()});
    CHECK(made.err.empty());
    REQUIRE(made.code == 0);
    const Outcome checked = program.run({"check", file.string()});
    CHECK(checked.err.empty());
    CHECK(checked.code == 0);
    // The name of the run follows the file; all else is the template's.
    const Outcome difference =
        program.run({"show", file.string(), "--diff", entry.path().string(), "--json"});
    CHECK_THAT(difference.out, !ContainsSubstring("\"key\": \"m"));
    CHECK(program.run({"show", file.string()}).code == 0);
  }
}

std::size_t times(const std::string& text, std::string_view part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST_CASE("every component can be chosen for a new recipe, and the result is right", "[cli]") {
  const TemporaryFolder folder;
  const Program program;
  for (const char* kind : {"model", "dataset", "loss", "optimizer", "scheduler", "precision"}) {
    for (const Descriptor* component : program.registry.of_kind(kind)) {
      INFO(kind << " " << component->name);
      const Outcome made =
          program.run({"new", shipped("shapes"), std::string("--") + kind, std::string(component->name)});
      if (made.code == 2) {  // it needs what only the user knows
        CHECK_THAT(made.err, ContainsSubstring(" needs "));
        continue;
      }
      const fs::path file = write_file(folder / "new.toml", made.out);
      const Outcome checked = program.run({"check", file.string()});
      INFO(checked.err);
      // What only the user knows is the one thing that may be wrong.
      const bool has_blanks = made.out.find("\"???\"  # fill this in") != std::string::npos;
      CHECK(checked.code == (has_blanks ? 2 : 0));
      CHECK(times(checked.err, ": error: ") == times(checked.err, " is still to be filled in"));
      for (const FieldInfo& field : component->own_schema().fields) {
        CHECK_THAT(made.out, ContainsSubstring("\n" + std::string(field.name) + " = ") ||
                                 ContainsSubstring("\n# " + std::string(field.name) + " = ") ||
                                 ContainsSubstring("." + std::string(field.name) + "]"));
      }
    }
  }
}

TEST_CASE("keys carry their documentation", "[cli]") {
  const Outcome made = Program{}.run({"new", shipped("shapes"), "--optimizer", "sgd", "optimizer.lr=0.125"});
  REQUIRE(made.code == 0);
  CHECK_THAT(made.out, ContainsSubstring("(number, above 0)\nlr = 0.125\n"));
  CHECK_THAT(made.out, ContainsSubstring("(number, above 0, optional)\n# clip_norm = 1.0\n"));
  CHECK_THAT(made.out, ContainsSubstring("# [[hook]]\n"));
}

TEST_CASE("a file is not replaced unless that is asked for", "[cli]") {
  const TemporaryFolder folder;
  const std::string file = write_file(folder / "mine.toml", "precious").string();
  const Outcome refused = Program{}.run({"new", shipped("shapes"), "-o", file});
  CHECK(refused.code == 2);
  CHECK_THAT(refused.err, ContainsSubstring("exists already") && ContainsSubstring("--force"));
  CHECK(read_text(file) == "precious");
  CHECK(Program{}.run({"new", shipped("shapes"), "-o", file, "--force"}).code == 0);
  CHECK_THAT(read_text(file), ContainsSubstring("[optimizer]"));
}

TEST_CASE("nothing is left behind where a file cannot be written", "[cli]") {
  const TemporaryFolder folder;
  const std::string file = (folder / "absent/mine.toml").string();
  CHECK_THROWS_WITH(Program{}.run({"new", shipped("shapes"), "-o", file}),
                    ContainsSubstring(file) && ContainsSubstring("No such file or directory"));
  CHECK(fs::is_empty(folder.path()));
}

TEST_CASE("a blank in a list is written as one to fill in", "[cli]") {
  const Outcome made =
      Program{}.run({"new", shipped("shapes"), "hook+=???", "eval.metric=[\"???\", \"accuracy\"]"});
  CHECK(made.err.empty());
  REQUIRE(made.code == 0);
  CHECK_THAT(made.out, ContainsSubstring("\n[[hook]]\nname = \"???\"  # fill this in\n") &&
                           ContainsSubstring("\n[[eval.metric]]\nname = \"???\"  # fill this in\n") &&
                           ContainsSubstring("\nname = \"accuracy\"\n"));
  const TemporaryFolder folder;
  const Outcome checked = Program{}.run({"check", write_file(folder / "new.toml", made.out).string()});
  CHECK_THAT(checked.err, ContainsSubstring("eval.metric.0.name is still to be filled in"));
}

TEST_CASE("a recipe for data that still has blanks is written without trying it", "[cli]") {
  const TemporaryFolder folder;
  const fs::path data =
      write_file(folder / "people.csv", "age,city,buys\n30,Rome,yes\n40,Oslo,no\n50,Rome,yes\n60,Oslo,no\n");
  const Outcome made = Program{}.run(
      {"new", "--task", "table", data.string(), "-o", (folder / "new.toml").string(), "optimizer.lr=???"});
  CHECK_THAT(made.err, !ContainsSubstring("does not fit"));
  CHECK(made.code == 0);
  CHECK_THAT(made.out, ContainsSubstring("fill in what is marked \"???\" (optimizer.lr)"));
}

TEST_CASE("wrong choices are explained", "[cli]") {
  const Outcome part = Program{}.run({"new", shipped("shapes"), "--model", "simple_cn"});
  CHECK(part.code == 2);
  CHECK_THAT(part.err, ContainsSubstring("did you mean \"simple_cnn\"?"));
  const Outcome base = Program{}.run({"new", "no_such_recipe"});
  CHECK(base.code == 2);
  CHECK_THAT(base.err, ContainsSubstring("there is no recipe \"no_such_recipe\""));
}

TEST_CASE("names that look like references are taken literally", "[cli]") {
  const TemporaryFolder folder;
  fs::create_directories(folder / "a${b}");
  const fs::path data = write_file(folder / "a${b}/people.csv", "size,${kind}\n1,x\n2,y\n3,x\n4,y\n");
  const fs::path recipe = folder / "a${b}/r${c}.toml";
  const Program program;
  const Outcome made = program.run({"new", "--task", "table", data.string(), "-o", recipe.string()});
  INFO(made.err);
  REQUIRE(made.code == 0);
  const Outcome shown = program.run({"show", recipe.string(), "--json"});
  CHECK_THAT(shown.out, ContainsSubstring("\"name\": \"r${c}\"") &&
                            ContainsSubstring("\"target\": \"${kind}\"") &&
                            ContainsSubstring("a${b}/people.csv"));
}

}  // namespace
}  // namespace runner::testing
