#include "registry/secrets.hpp"

#include <catch2/catch_all.hpp>

#include <variant>

#include "registry/codec.hpp"
#include "registry/conform.hpp"
#include "tests/support/sample_schema.hpp"
#include "tests/support/trees.hpp"

namespace runner {
namespace {

using Catch::Matchers::ContainsSubstring;
using sample::Everything;

struct Login {
  std::string pin;
};
constexpr auto describe(std::type_identity<Login>) {
  return fields(field("pin", &Login::pin, "Opens the door.", secret()));
}

struct Visitor {
  std::variant<std::string, Login> login;
};
constexpr auto describe(std::type_identity<Visitor>) {
  return fields(field("login", &Visitor::login, "A name, or all of it."));
}

// A member written as `key = value` on a line of its own, or on one it shares.
void write(Table& table, const std::shared_ptr<const Source>& source, std::uint32_t line, std::string key,
           Value value) {
  const Origin place{source, line, 1, 3};
  value.origin = place;
  table.append(std::move(key), std::move(value), place);
}

std::string complaints(Table table) {
  Diagnostics diagnostics;
  const Registry registry = sample::registry();
  conform(Value(Value::Data(std::move(table))), schema_of<Everything>(), registry, diagnostics);
  return render(diagnostics) + render(diagnostics, true);
}

}  // namespace

TEST_CASE("secrets: the names come from the schema and from every component", "[secrets]") {
  CHECK(secret_names(schema_of<Everything>(), sample::registry()) == std::vector<std::string>{"token"});
}

TEST_CASE("secrets: a name in one of several types of a field counts", "[secrets]") {
  CHECK(secret_names(schema_of<Visitor>(), sample::registry()) == std::vector<std::string>{"pin", "token"});
}

TEST_CASE("secrets: a wrong secret is complained about without being shown", "[secrets]") {
  const auto source = testing::file("r.toml", "token = 12345678\n");
  Table table;
  write(table, source, 1, "token", testing::number(12345678));
  CHECK_THAT(complaints(table),
             ContainsSubstring("token must be a string, not an integer") && !ContainsSubstring("12345678"));
}

TEST_CASE("secrets: a misspelled secret key does not show the line", "[secrets]") {
  for (const char* key : {"tokne", "Token", "TOKEN", "tokn", "my_token", "tokens"}) {
    const auto source = testing::file("r.toml", std::string(key) + " = \"hush-hush\"\n");
    Table table;
    write(table, source, 1, key, testing::text("hush-hush"));
    INFO(key);
    CHECK_THAT(complaints(table), ContainsSubstring("has no section") && !ContainsSubstring("hush"));
  }
}

TEST_CASE("secrets: a mistake beside a secret does not show the line they share", "[secrets]") {
  const auto source =
      testing::file("r.toml", "gadget = { name = \"tuned\", token = \"hush\", lr = -1 }\nflag = 1\n");
  for (const char* name : {"tuned", "tunde", "plain"}) {
    Table gadget, table;
    write(gadget, source, 1, "name", testing::text(name));
    write(gadget, source, 1, "token", testing::text("hush"));
    write(gadget, source, 1, "lr", testing::number(-1));
    write(table, source, 1, "gadget", Value(Value::Data(gadget)));
    write(table, source, 2, "flag", testing::number(1));
    INFO(name);
    CHECK_THAT(complaints(table), !ContainsSubstring("hush") && ContainsSubstring("flag = 1"));
  }
}

TEST_CASE("secrets: a mistake about an address does not show its password", "[secrets]") {
  const std::string address = "http://me:hush@host/x";
  for (const char* key : {"count", "shape", "zebra", "colour"}) {
    const auto source = testing::file("r.toml", std::string(key) + " = \"" + address + "\"\nflag = 1\n");
    Table table;
    write(table, source, 1, key, testing::text(address));
    write(table, source, 2, "flag", testing::number(1));
    INFO(key);
    CHECK_THAT(complaints(table),
               ContainsSubstring(key) && !ContainsSubstring("hush") && ContainsSubstring("flag = 1"));
  }
  Diagnostics unreadable;
  unreadable.error({testing::file("r.toml", "url = \"" + address + "\n"), 1, 7, 1}, "no closing quote");
  hide_lines_naming({}, unreadable);
  CHECK_THAT(render(unreadable), !ContainsSubstring("hush"));
}

TEST_CASE("secrets: a text over several lines hides all that follows", "[secrets]") {
  const auto source = testing::file("r.toml", "flag = 1\ntoken = \"\"\"hush\nhush2\"\"\"\ncount = 0\n");
  Table table;
  write(table, source, 1, "flag", testing::number(1));
  Value token = testing::text("hush\nhush2");
  token.origin = Origin{source, 2, 9, 7};
  table.append("token", token, Origin{source, 2, 1, 5});
  write(table, source, 3, "count", testing::number(0));
  CHECK_THAT(complaints(table), !ContainsSubstring("hush") && ContainsSubstring("flag = 1"));
}

TEST_CASE("secrets: before there is a tree, a line that names one is not shown", "[secrets]") {
  Diagnostics diagnostics;
  diagnostics.error({testing::file("r.toml", "a = 1\nToken = \"hush\n"), 2, 9, 1}, "not valid TOML");
  diagnostics.error({testing::file("r.toml", "a = 1\nToken = \"hush\n"), 1, 1, 1}, "odd");
  hide_lines_naming({"token"}, diagnostics);
  CHECK_THAT(render(diagnostics), !ContainsSubstring("hush") && ContainsSubstring("a = 1"));
}

TEST_CASE("secrets: before there is a tree, a line that sounds secret is not shown", "[secrets]") {
  for (const char* key : {"token", "api_key", "apikey", "API-KEY", "passwd", "aws_access_key", "private_key",
                          "credentials", "client_secret"}) {
    INFO(key);
    Diagnostics diagnostics;
    diagnostics.error({testing::file("r.toml", std::string(key) + " = hush\n"), 1, 1, 1}, "not valid TOML");
    hide_lines_naming({}, diagnostics);
    CHECK_THAT(render(diagnostics), !ContainsSubstring("hush"));
  }
}

TEST_CASE("secrets: a name of several words is found however they are joined", "[secrets]") {
  Diagnostics diagnostics;
  diagnostics.error({testing::file("r.toml", "Pin-Code = hush\n"), 1, 1, 1}, "not valid TOML");
  hide_lines_naming({"pin_code"}, diagnostics);
  CHECK_THAT(render(diagnostics), !ContainsSubstring("hush"));
}

TEST_CASE("secrets: a hint does not repeat what a variable holds", "[secrets]") {
  const auto source =
      std::make_shared<const Source>(Source{Source::Kind::argument, "low", "low=${env:NUMBER}"});
  Value value = testing::number(12345678);
  value.typed = "12345678";
  value.from_environment = true;
  Table table;
  write(table, source, 1, "low", value);
  CHECK_THAT(complaints(table), ContainsSubstring("window.low=..") && !ContainsSubstring("12345678"));
}

TEST_CASE("secrets: the mark travels with the value, given or by default", "[secrets]") {
  Diagnostics diagnostics;
  const Registry registry = sample::registry();
  const Value given = conform(testing::table({{"token", testing::text("hush")}}), schema_of<Everything>(),
                              registry, diagnostics);
  CHECK(testing::at(given, "token").secret);
  const Value missing = conform(testing::table({}), schema_of<Everything>(), registry, diagnostics);
  CHECK(testing::at(missing, "token").secret);
  CHECK(testing::at(encode_table(Everything{}), "token").secret);
  CHECK_FALSE(testing::at(given, "title").secret);
}

TEST_CASE("secrets: what repeats a secret is one", "[secrets]") {
  Table inner;
  inner.set("copy", testing::text("Bearer hush-hush"));
  inner.set("other", testing::text("hush"));
  Value token = testing::text("hush-hush");
  token.secret = true;
  Array list{testing::text("a"), testing::text("hush-hush")};
  Table table;
  table.set("token", token);
  table.set("inner", Value(Value::Data(std::move(inner))));
  table.set("list", Value(Value::Data(std::move(list))));
  Value recipe(Value::Data(std::move(table)));
  follow_secrets(recipe);
  const Table& found = *recipe.as<Table>();
  CHECK(found.find("list")->secret);
  CHECK_FALSE(found.find("inner")->secret);
  CHECK(found.find("inner")->as<Table>()->find("copy")->secret);
  CHECK_FALSE(found.find("inner")->as<Table>()->find("other")->secret);
}

}  // namespace runner
