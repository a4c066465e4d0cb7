#include "registry/conform.hpp"

#include <catch2/catch_all.hpp>

#include "registry/codec.hpp"
#include "tests/support/sample_schema.hpp"
#include "tests/support/trees.hpp"

namespace runner {
namespace {

using Catch::Matchers::ContainsSubstring;
using sample::Everything;
using testing::list;
using testing::number;
using testing::table;
using testing::text;

// What is said about a tree: nothing where it is right.
std::string complaints(const Value& tree, const Schema& schema = schema_of<Everything>()) {
  Diagnostics diagnostics;
  const Registry registry = sample::registry();
  conform(tree, schema, registry, diagnostics);
  return render(diagnostics);
}

std::string about(const std::string& key, Value value) {
  return complaints(table({{key, std::move(value)}}));
}

struct Paths {
  std::optional<std::filesystem::path> file;
  std::optional<std::filesystem::path> logs;  // "": the run folder itself
  std::filesystem::path folder;               // "": where it usually is
};
constexpr auto describe(std::type_identity<Paths>) {
  return fields(field("file", &Paths::file, "A file."),
                field("logs", &Paths::logs, "A folder.", in_run_folder()),
                field("folder", &Paths::folder, "Another folder."));
}

// A value of a file, at a line, in a layer.
Value placed(Value value, std::uint32_t line, int layer = 0) {
  static const auto source = testing::file("r.toml", std::string(100, '\n'));
  value.origin = Origin{source, line, 1, 1, layer};
  return value;
}

}  // namespace

TEST_CASE("conform: defaults are filled in, in the schema's order", "[conform]") {
  Diagnostics diagnostics;
  const Registry registry = sample::registry();
  const Value result = conform(table({{"title", text("x")}, {"count", number(9)}}), schema_of<Everything>(),
                               registry, diagnostics);
  REQUIRE(diagnostics.ok());
  CHECK(result.as<Table>()->begin()->key == "flag");
  CHECK(testing::toml(result, "count") == "9");
  CHECK(testing::toml(result, "window") == "{ low = 0, high = 10 }");
  CHECK(testing::toml(result, "gadget") == "{ name = \"plain\", strict = true }");
  CHECK(result.as<Table>()->find("maybe") == nullptr);
  CHECK(result.as<Table>()->find("span") == nullptr);
}

TEST_CASE("conform: a second time changes nothing", "[conform]") {
  Diagnostics diagnostics;
  const Registry registry = sample::registry();
  const Value tree = table({{"every", text("120min")},
                            {"buffer", text("1000kB")},
                            {"gadget", text("tuned")},
                            {"ratio", number(1)}});
  const Value once = conform(tree, schema_of<Everything>(), registry, diagnostics);
  const Value twice = conform(once, schema_of<Everything>(), registry, diagnostics);
  REQUIRE(diagnostics.ok());
  CHECK(same_data(once, twice));
  CHECK(testing::toml(once, "every") == "\"2h\"");
  CHECK(testing::toml(once, "buffer") == "\"1MB\"");
}

TEST_CASE("conform: unknown keys name the nearest one, its type, range and default", "[conform]") {
  CHECK_THAT(about("ration", number(1)),
             ContainsSubstring("a recipe has no section \"ration\"") &&
                 ContainsSubstring("did you mean \"ratio\"?  (number, 0 to 1, default 0.5)"));
  const Value gadget = table({{"name", text("tuned")}, {"momentun", number(1)}});
  CHECK_THAT(about("gadget", gadget),
             ContainsSubstring("gadget \"tuned\" has no parameter \"momentun\"") &&
                 ContainsSubstring("did you mean \"momentum\"?  (number, 0 to 1, default 0.9)") &&
                 ContainsSubstring("see: runner describe gadget tuned"));
  CHECK_THAT(about("window", table({{"zebra", number(1)}})),
             ContainsSubstring("[window] has no key \"zebra\"") && ContainsSubstring("it has: low, high") &&
                 ContainsSubstring("see: runner describe section window"));
}

TEST_CASE("conform: wrong types, ranges and words", "[conform]") {
  CHECK_THAT(about("flag", number(1)), ContainsSubstring("flag must be a boolean, not an integer"));
  CHECK_THAT(about("flag", text("True")), ContainsSubstring("write true, without quotes"));
  CHECK_THAT(about("maybe", text("none")), ContainsSubstring("delete it with ~maybe"));
  CHECK_THAT(about("count", text("many")),
             ContainsSubstring("count must be an integer, not a string (\"many\")"));
  // As it arrives from the command line, where it needs no quotes.
  for (const char* key : {"count", "ratio"})
    CHECK_THAT(about(key, text("99999999999999999999")),
               ContainsSubstring(" = 99999999999999999999 is out of range"));
  CHECK_THAT(about("count", Value(Value::Data(1.5))),
             ContainsSubstring("count must be an integer, not a number"));
  CHECK_THAT(about("count", number(0)), ContainsSubstring("count must be 1 to 100, not 0"));
  CHECK_THAT(about("small", number(256)), ContainsSubstring("small must be 0 to 255"));
  CHECK_THAT(about("ratio", Value(Value::Data(1.5))), ContainsSubstring("ratio must be 0 to 1, not 1.5"));
  CHECK_THAT(about("ratio", Value(Value::Data(NAN))), ContainsSubstring("must be a finite number"));
  CHECK_THAT(about("rough", number(10)), ContainsSubstring("rough must be below 10, not 10"));
  CHECK_THAT(about("title", text("")), ContainsSubstring("title must not be empty"));
  CHECK_THAT(about("title", number(7)), ContainsSubstring("title must be a string, not an integer"));
  CHECK_THAT(about("title", text(std::string("a\0b", 3))), ContainsSubstring("NUL"));
  CHECK_THAT(about("colour", text("gren")), ContainsSubstring("colour cannot be \"gren\"") &&
                                                ContainsSubstring("did you mean \"green\"?") &&
                                                ContainsSubstring("allowed: red, green, blue"));
  CHECK_THAT(about("shape", text("squre")), ContainsSubstring("did you mean \"square\"?"));
  CHECK_THAT(about("shape", number(1)),
             ContainsSubstring("shape must be \"round\" or \"square\", not an integer"));
  CHECK_THAT(about("every", number(5)),
             ContainsSubstring("every needs a unit") &&
                 ContainsSubstring("write \"5ep\", \"5step\", \"5min\" or another duration"));
  CHECK_THAT(about("limit", number(5)), ContainsSubstring("write \"5min\" or another duration"));
  CHECK_THAT(about("every", text("0ep")), ContainsSubstring("every must be above 0, not \"0ep\""));
  CHECK_THAT(about("limit", text("5ep")),
             ContainsSubstring("limit needs a time such as \"30min\", not \"5ep\""));
  CHECK_THAT(about("every", text("5 eps")),
             ContainsSubstring("unknown unit \"eps\"") && ContainsSubstring("\"ep\""));
  CHECK_THAT(about("buffer", number(5)), ContainsSubstring("write \"5MB\", \"5MiB\" or another size"));
  CHECK_THAT(about("buffer", text("0B")), ContainsSubstring("buffer must be at least 1, not \"0B\""));
  CHECK_THAT(about("sizes", number(5)), ContainsSubstring("sizes must be a list of integer, not an integer"));
  CHECK_THAT(about("sizes", list({})), ContainsSubstring("sizes must not be empty"));
  CHECK_THAT(about("sizes", list({number(4), number(0), text("x")})),
             ContainsSubstring("sizes.1 must be at least 1") &&
                 ContainsSubstring("sizes.2 must be an integer, not a string"));
  CHECK_THAT(about("matrix", list({list({text("x")})})), ContainsSubstring("matrix.0.0 must be a number"));
  CHECK_THAT(about("weights", table({{"odd key", number(-1)}})),
             ContainsSubstring("weights.\"odd key\" must be at least 0"));
  CHECK_THAT(about("weights", list({})), ContainsSubstring("weights must be a table of number, not a list"));
  CHECK_THAT(about("window", number(1)), ContainsSubstring("window must be a table, not an integer"));
  CHECK_THAT(about("title", Value(Value::Data(Date{"1979-05-27"}))), ContainsSubstring("not a date"));
}

TEST_CASE("conform: a path that may stay unset is not empty", "[conform]") {
  const std::string said = complaints(table({{"file", text("")}}), schema_of<Paths>());
  CHECK_THAT(said, ContainsSubstring("file must not be empty") && ContainsSubstring("delete it with ~file"));
  CHECK(complaints(table({{"folder", text("")}, {"logs", text("")}}), schema_of<Paths>()).empty());
}

TEST_CASE("conform: parts", "[conform]") {
  CHECK_THAT(about("gadget", text("tunde")), ContainsSubstring("unknown gadget \"tunde\"") &&
                                                 ContainsSubstring("did you mean \"tuned\"?") &&
                                                 ContainsSubstring("available: nested, plain, tuned") &&
                                                 ContainsSubstring("see: runner list gadget"));
  // The part that is there by default is the one that a table without a name speaks of.
  CHECK_THAT(about("gadget", table({{"lr", number(1)}})),
             ContainsSubstring("gadget \"plain\" has no parameter \"lr\""));
  CHECK_THAT(about("gadget", number(1)), ContainsSubstring("gadget must name a gadget, not be an integer"));
  CHECK_THAT(about("gadget", table({{"name", number(1)}})),
             ContainsSubstring("gadget.name must name a gadget"));
  CHECK_THAT(about("gadgets", text("plain")), ContainsSubstring("gadgets is a list, not one gadget") &&
                                                  ContainsSubstring("write [[gadgets]] for each one"));
  const Value deep = list({table(
      {{"name", text("nested")}, {"inner", list({table({{"name", text("tuned")}, {"lr", number(0)}})})}})});
  CHECK_THAT(about("gadgets", deep), ContainsSubstring("gadgets.0.inner.0.lr must be above 0, not 0"));
}

TEST_CASE("conform: all mistakes are reported at once", "[conform]") {
  const std::string out = complaints(
      table({{"flag", number(1)}, {"zzz", number(1)}, {"gadget", text("?")}, {"every", number(1)}}));
  CHECK_THAT(out, ContainsSubstring("flag must be") && ContainsSubstring("\"zzz\"") &&
                      ContainsSubstring("unknown gadget") && ContainsSubstring("needs a unit"));
}

TEST_CASE("conform: a file of garbage does not run on forever", "[conform]") {
  Table garbage;
  for (int i = 0; i < 5000; ++i) garbage.append("zzz" + std::to_string(i), number(i), {});
  Diagnostics diagnostics;
  const Registry registry = sample::registry();
  conform(Value(Value::Data(garbage)), schema_of<Everything>(), registry, diagnostics);
  CHECK(diagnostics.errors() == 200);
}

TEST_CASE("conform: required fields", "[conform]") {
  const std::string out = complaints(table({}), schema_of<sample::Demanding>());
  CHECK_THAT(out, ContainsSubstring("a recipe needs \"must\"") &&
                      ContainsSubstring("(integer, required)  Has to be there.") &&
                      ContainsSubstring("a recipe needs \"gadget\""));
}

TEST_CASE("conform: checks across fields run where the fields are right", "[conform]") {
  CHECK_THAT(about("window", table({{"low", number(20)}})),
             ContainsSubstring("[window]: \"low\" must not be above high"));
  const auto gadget = [](std::initializer_list<std::pair<std::string, Value>> more) {
    Value value = table(more);
    value.as<Table>()->set("name", text("tuned"));
    return about("gadget", value);
  };
  CHECK_THAT(gadget({{"nesterov", Value(Value::Data(true))}, {"momentum", number(0)}}),
             ContainsSubstring("gadget \"tuned\": \"nesterov\" needs momentum above 0"));
  CHECK_THAT(gadget({{"nesterov", Value(Value::Data(true))}, {"momentum", number(0)}, {"lr", number(-1)}}),
             !ContainsSubstring("needs momentum"));
  // What is common to the kind has a check of its own.
  CHECK_THAT(gadget({{"strict", Value(Value::Data(false))}, {"level", number(9)}}),
             ContainsSubstring("gadget \"tuned\": \"level\" 9 is for strict gadgets"));
}

TEST_CASE("conform: a former name works with a warning", "[conform]") {
  Diagnostics diagnostics;
  const Registry registry = sample::registry();
  const Value result = conform(table({{"stale", number(8)}}), schema_of<Everything>(), registry, diagnostics);
  CHECK(diagnostics.ok());
  CHECK(diagnostics.warnings() == 1);
  CHECK_THAT(render(diagnostics), ContainsSubstring("a recipe: \"stale\" is now called \"fresh\""));
  CHECK(testing::toml(result, "fresh") == "8");
  CHECK(result.as<Table>()->find("stale") == nullptr);
}

TEST_CASE("conform: of a former and a present name the later layer wins", "[conform]") {
  const auto fresh = [](int old_layer, int new_layer) {
    Diagnostics diagnostics;
    const Registry registry = sample::registry();
    const Value tree =
        table({{"stale", placed(number(1), 1, old_layer)}, {"fresh", placed(number(2), 2, new_layer)}});
    const Value result = conform(tree, schema_of<Everything>(), registry, diagnostics);
    return diagnostics.ok() ? testing::toml(result, "fresh") : render(diagnostics);
  };
  CHECK(fresh(0, 1) == "2");
  CHECK(fresh(1, 0) == "1");
  CHECK_THAT(fresh(0, 0), ContainsSubstring("has both \"stale\" and its new name \"fresh\""));
}

TEST_CASE("conform: a part chosen by a later layer drops what only the earlier one knew", "[conform]") {
  const auto chosen = [](int key_layer, int name_layer) {
    Diagnostics diagnostics;
    const Registry registry = sample::registry();
    const Value gadget = table({{"name", placed(text("plain"), 1, name_layer)},
                                {"momentum", placed(number(1), 2, key_layer)},
                                {"level", placed(number(3), 3, key_layer)}});
    const Value result = conform(table({{"gadget", gadget}}), schema_of<Everything>(), registry, diagnostics);
    return diagnostics.ok() ? testing::toml(result, "gadget") : render(diagnostics);
  };
  CHECK(chosen(0, 1) == "{ name = \"plain\", strict = true, level = 3 }");
  CHECK_THAT(chosen(1, 1), ContainsSubstring("gadget \"plain\" has no parameter \"momentum\""));
  CHECK_THAT(chosen(1, 0), ContainsSubstring("gadget \"plain\" has no parameter \"momentum\""));
}

TEST_CASE("conform: a part chosen by a later layer drops what does not suit it", "[conform]") {
  const auto chosen = [](int key_layer, int name_layer) {
    Diagnostics diagnostics;
    const Registry registry = sample::registry();
    const Value gadget = table(
        {{"name", placed(text("plain"), 1, name_layer)}, {"level", placed(text("high"), 2, key_layer)}});
    const Value result = conform(table({{"gadget", gadget}}), schema_of<Everything>(), registry, diagnostics);
    return diagnostics.ok() ? testing::toml(result, "gadget") : render(diagnostics);
  };
  CHECK_THAT(chosen(0, 1), ContainsSubstring("name = \"plain\""));
  CHECK_THAT(chosen(1, 1), ContainsSubstring("gadget.level must be"));
}

TEST_CASE("conform: where a key holds text, what was typed is taken as it is", "[conform]") {
  const auto typed = [](const std::string& key, Value value, std::string as_typed) {
    value.typed = std::move(as_typed);
    Diagnostics diagnostics;
    const Registry registry = sample::registry();
    const Value result = conform(table({{key, value}}), schema_of<Everything>(), registry, diagnostics);
    return diagnostics.ok() ? testing::toml(result, key) : render(diagnostics);
  };
  CHECK(typed("title", number(1), "0x1") == "\"0x1\"");
  CHECK(typed("title", Value(Value::Data(true)), "true") == "\"true\"");
  CHECK_THAT(typed("folder", Value(Value::Data(Date{"2026-01-01"})), "2026-01-01"),
             Catch::Matchers::EndsWith("/2026-01-01\""));  // a path, from the current folder
  CHECK_THAT(typed("title", list({number(1)}), "[1]"), ContainsSubstring("must be a string, not a list"));
}

TEST_CASE("conform: the origin of every value is kept", "[conform]") {
  Diagnostics diagnostics;
  const Registry registry = sample::registry();
  const Value tree = table({{"count", placed(number(4), 12)}, {"every", placed(text("60min"), 13)}});
  const Value result = conform(tree, schema_of<Everything>(), registry, diagnostics);
  CHECK(to_string(testing::at(result, "count").origin) == "r.toml:12:1");
  CHECK(to_string(testing::at(result, "every").origin) == "r.toml:13:1");
  CHECK(to_string(testing::at(result, "ratio").origin) == "default");
}

TEST_CASE("conform: a path whose recipe lies in a folder that is not UTF-8 is refused", "[conform]") {
  Value folder = text("data");
  folder.origin = Origin{testing::file("/tmp/\xFF/r.toml", "folder = \"data\"\n"), 1, 10, 6};
  CHECK_THAT(about("folder", folder),
             ContainsSubstring("folder leads into a folder whose name is not valid UTF-8") &&
                 ContainsSubstring("rename the folder"));
  folder.origin.source = testing::file("/tmp/\xC3\xA4/r.toml", "folder = \"data\"\n");
  CHECK(about("folder", folder).empty());
}

TEST_CASE("conform: a blank is explained, or stands where a value is missing", "[conform]") {
  const Registry registry = sample::registry();
  const Value tree = table({{"count", text("???")}});
  Diagnostics refused;
  conform(tree, schema_of<Everything>(), registry, refused);
  CHECK_THAT(render(refused), ContainsSubstring("count is still to be filled in"));
  Diagnostics none;
  const Value result = conform(tree, schema_of<Everything>(), registry, none, Blanks::allowed);
  CHECK(none.ok());
  CHECK(testing::toml(result, "count") == "\"???\"");
}

}  // namespace runner
