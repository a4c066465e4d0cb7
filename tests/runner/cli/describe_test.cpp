#include <catch2/catch_all.hpp>
#include <nlohmann/json.hpp>

#include "runner/resolve/resolve.hpp"
#include "tests/runner/cli/program.hpp"

namespace runner::testing {
namespace {

using Catch::Matchers::ContainsSubstring;
using Json = nlohmann::json;

TEST_CASE("list names every component with its summary", "[cli]") {
  const Program program;
  const Outcome listed = program.run({"list"});
  CHECK(listed.code == 0);
  const Json json = Json::parse(program.run({"list", "--json"}).out);
  CHECK(json.size() == 12);  // the kinds there are
  for (const KindInfo* kind : program.registry.kinds()) {
    for (const Descriptor* component : program.registry.of_kind(kind->name)) {
      CHECK_THAT(listed.out, ContainsSubstring("\n  " + std::string(component->name)));
    }
    const Json one = Json::parse(program.run({"list", std::string(kind->name), "--json"}).out);
    CHECK(one.size() == 1);
    CHECK(one[0]["components"].size() == program.registry.of_kind(kind->name).size());
  }
}

TEST_CASE("describe explains every parameter of every component", "[cli]") {
  const Program program;
  for (const KindInfo* kind : program.registry.kinds()) {
    for (const Descriptor* component : program.registry.of_kind(kind->name)) {
      const std::string kind_name(kind->name), name(component->name);
      INFO(kind_name << " " << name);
      const Outcome described = program.run({"describe", kind_name, name});
      CHECK(described.code == 0);
      const Json json = Json::parse(program.run({"describe", kind_name, name, "--json"}).out);
      const Schema schema = component->schema();
      CHECK(json["parameters"].size() + json["common_parameters"].size() == schema.fields.size());
      for (const FieldInfo& field : schema.fields) {
        CHECK_THAT(described.out, ContainsSubstring(std::string(field.name) + "  " + summary_text(field)));
        CHECK_FALSE(field.doc.empty());
      }
    }
  }
}

TEST_CASE("sections are described like components", "[cli]") {
  const Program program;
  for (const FieldInfo& section : recipe_schema().fields) {
    const std::string name(section.name);
    CHECK_THAT(program.run({"describe", "section"}).out, ContainsSubstring(name));
    CHECK(program.run({"describe", "section", name}).code == 0);
    CHECK_NOTHROW(Json::parse(program.run({"describe", "section", name, "--json"}).out));
  }
  CHECK_THAT(program.run({"describe", "section", "train"}).out,
             ContainsSubstring("accumulation_steps  integer, 1 to 1000000, default 1"));
}

TEST_CASE("a name alone is enough where it is clear", "[cli]") {
  const Program program;
  CHECK(program.run({"describe", "sgd"}).out == program.run({"describe", "optimizer", "sgd"}).out);
  CHECK(program.run({"describe", "train"}).out == program.run({"describe", "section", "train"}).out);
  const Outcome unclear = program.run({"describe", "linear"});
  CHECK((unclear.code == 0 || unclear.err.find("more than one") != std::string::npos));
}

TEST_CASE("what does not exist gets the nearest name", "[cli]") {
  const Program program;
  const auto refused = [&](std::vector<std::string> words, const std::string& hint) {
    const Outcome outcome = program.run(std::move(words));
    CHECK(outcome.code == 2);
    CHECK(outcome.out.empty());
    CHECK_THAT(outcome.err, ContainsSubstring(hint));
  };
  refused({"list", "optimizers"}, "did you mean \"optimizer\"?");
  refused({"describe", "optimizer", "sdg"}, "did you mean \"sgd\"?");
  refused({"describe", "optimiser", "sgd"}, "did you mean \"optimizer\"?");
  refused({"describe", "section", "trian"}, "did you mean \"train\"?");
  refused({"describe", "nonsense"}, "kinds: ");
  refused({"completions", "bsh"}, "did you mean \"bash\"?");
}

TEST_CASE("two registrations of one name stop the program, and both places are named", "[cli]") {
  const Registry all = Registry::of_linked();
  const Descriptor* sgd = all.find("optimizer", "sgd");
  const Program program{Registry({sgd, sgd})};
  const Outcome outcome = program.run({"list"});
  CHECK(outcome.code == 1);
  CHECK_THAT(outcome.err, ContainsSubstring("registered twice") && ContainsSubstring("sgd.cpp"));
}

TEST_CASE("env says what a bug report needs", "[cli]") {
  const Json json = Json::parse(Program{}.run({"env", "--json"}).out);
  for (const char* key : {"runner", "libtorch", "compiler", "system", "processor", "instructions", "usable",
                          "memory", "threads", "devices", "variables"}) {
    CHECK_FALSE(json[key].get<std::string>().empty());
  }
  Program program;
  program.environment = {{"OMP_NUM_THREADS", "3"}, {"RUNNER_TRACKER__TOKEN", "hush"}};
  const std::string text = program.run({"env"}).out;
  CHECK_THAT(text, ContainsSubstring("OMP_NUM_THREADS=3") && ContainsSubstring("RUNNER_TRACKER__TOKEN") &&
                       !ContainsSubstring("hush"));
}

}  // namespace
}  // namespace runner::testing
