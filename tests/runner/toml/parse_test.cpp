#include "runner/toml/parse.hpp"

#include <catch2/catch_all.hpp>

#include <algorithm>

#include "registry/base/utf8.hpp"
#include "runner/toml/nesting.hpp"
#include "tests/support/recipes.hpp"

namespace runner {
namespace {

using Catch::Matchers::ContainsSubstring;
using testing::at;
using testing::parsed;

std::string problem(const std::string& text) {
  Diagnostics diagnostics;
  const auto source = testing::file("r.toml", text);
  CHECK_FALSE(parse_toml(text, source, 0, diagnostics).has_value());
  return render(diagnostics);
}

// line:column+length
std::string place(const Origin& origin) {
  return std::to_string(origin.line) + ":" + std::to_string(origin.column) + "+" +
         std::to_string(origin.length);
}

}  // namespace

TEST_CASE("parse: every type of value", "[parse]") {
  const Value tree = parsed(
      "b = true\ni = 0xFF\nn = 1.5e3\ns = 'x'\nd = 1979-05-27T07:32:00Z\nl = [1, 'a']\nt = { k = 1 }\n");
  CHECK(to_toml(tree) ==
        "{ b = true, i = 255, n = 1500.0, s = \"x\", d = 1979-05-27T07:32:00Z, l = [1, \"a\"], t = { k = 1 } "
        "}");
}

TEST_CASE("parse: keys stay in the order of the file", "[parse]") {
  const Value tree = parsed("zebra = 1\napple = 2\n[section]\ny = 1\nx = 2\n[section.inner]\n[another]\n");
  CHECK(to_toml(tree) == "{ zebra = 1, apple = 2, section = { y = 1, x = 2, inner = {} }, another = {} }");
}

TEST_CASE("parse: keys and values know their place", "[parse]") {
  const Value tree = parsed(
      "[optimizer]\n  lr = 0.10  # comment\n\"g\xC3\xA4\" = \"\xC3\xA4\" # x\nt = {a = 1, b.c = 'long'}\nm = "
      "\"\"\"\none\ntwo\"\"\"\n[[list]]\n");
  const Table& optimizer = *at(tree, "optimizer").as<Table>();
  CHECK(place(at(tree, "optimizer").origin) == "1:1+11");
  CHECK(place(tree.as<Table>()->member("optimizer")->key_origin) == "1:2+9");
  CHECK(place(optimizer.member("lr")->key_origin) == "2:3+2");
  CHECK(place(at(tree, "optimizer.lr").origin) == "2:8+4");
  CHECK(place(optimizer.member("g\xC3\xA4")->key_origin) == "3:1+5");
  CHECK(place(optimizer.find("g\xC3\xA4")->origin) == "3:9+4");  // bytes, not characters
  CHECK(place(at(tree, "optimizer.t.b.c").origin) == "4:19+6");
  CHECK(place(at(tree, "optimizer.m").origin) == "5:5+3");  // the first line of several
  CHECK(place(at(tree, "list.0").origin) == "8:1+8");
  CHECK(place(tree.origin) == "0:0+0");
}

TEST_CASE("parse: line ends of Windows are line ends", "[parse]") {
  const Value tree = parsed("a = 1\r\n[b]\r\nc = 'x'\r\n");
  CHECK(to_toml(tree) == "{ a = 1, b = { c = \"x\" } }");
  CHECK(place(at(tree, "b.c").origin) == "3:5+3");
}

TEST_CASE("parse: an empty text is an empty recipe", "[parse]") {
  CHECK(to_toml(parsed("")) == "{}");
  CHECK(to_toml(parsed("\n# only a comment")) == "{}");
}

TEST_CASE("parse: mistakes are reported with their place and a remedy", "[parse]") {
  CHECK(problem("a = 1\nb = hello\n") ==
        "r.toml:2:5: error: not valid TOML: this is not a value\n"
        "    2 | b = hello\n"
        "      |     ^^^^^\n"
        "  text, durations and sizes need quotes: key = \"text\"\n");
  for (const char* word :
       {"nope", "5ep", "25MB", "/data/x", "torch", "information", "1.5.6x", "0xZZ", "h\xC3\xA9llo"}) {
    INFO(word);
    const auto bytes = std::string_view(word);
    const std::string carets(
        bytes.size() - static_cast<std::size_t>(std::ranges::count_if(bytes, continues_utf8)), '^');
    CHECK_THAT(problem(std::string("a = ") + word),
               ContainsSubstring("this is not a value") && ContainsSubstring("|     " + carets + "\n"));
    CHECK_THAT(problem(std::string("a = [1, ") + word + "]"),
               ContainsSubstring("this is not a value") && ContainsSubstring("|         " + carets + "\n"));
  }
  CHECK_THAT(problem("a = True"), ContainsSubstring("true and false are written in lower case"));
  CHECK_THAT(problem("a = None"), ContainsSubstring("remove the key instead"));
  CHECK_THAT(problem("a = 1\na = 2\n"), ContainsSubstring("r.toml:2:5: error: not valid TOML") &&
                                            ContainsSubstring("duplicate key a") &&
                                            ContainsSubstring("may appear only once"));
  CHECK_THAT(problem("[a]\n[b]\n[a]\n"),
             ContainsSubstring("r.toml:3:1") && ContainsSubstring("duplicate key"));
  CHECK_THAT(problem("a = { x = 1, x = 2 }"), ContainsSubstring("duplicate key"));
  CHECK_THAT(problem("a.b = 1\na = 2"), ContainsSubstring("duplicate key"));
  CHECK_THAT(problem("seed = 1\n\"seed\" = 2\n"),
             ContainsSubstring("duplicate key") && !ContainsSubstring("seseed"));
  CHECK_THAT(problem("a = \"\xFF\""),
             ContainsSubstring("utf-8") && ContainsSubstring("save the file as UTF-8"));
  CHECK_THAT(problem("a = \"\xC3\""), ContainsSubstring("utf-8"));
  CHECK_THAT(problem("a = 007"), ContainsSubstring("leading zero") && ContainsSubstring("string in quotes"));
  CHECK_THAT(problem("a = \"open\nb = 1"), ContainsSubstring("r.toml:1:"));
  CHECK_THAT(problem("a = [1, 2"), ContainsSubstring("end-of-file"));
  CHECK_THAT(problem("[a"), ContainsSubstring("r.toml:1:3"));
  CHECK_THAT(problem("= 3"), ContainsSubstring("r.toml:1:1"));
  CHECK_THAT(problem("a = 99999999999999999999"), ContainsSubstring("this number is out of range"));
  CHECK_THAT(problem("a = tru"), ContainsSubstring("this is not a value"));
  CHECK_THAT(problem("\x01\x02\x03"), ContainsSubstring("r.toml:1:1"));
  CHECK_THAT(problem("a = 1\rb = 2"), ContainsSubstring("r.toml:1:"));
}

TEST_CASE("parse: a place after characters of several bytes is right", "[parse]") {
  const std::string out = problem("\"\xC3\xA4\xC3\xB6\xC3\xBC\" = nope");
  CHECK_THAT(out, ContainsSubstring("r.toml:1:12: error") && ContainsSubstring("\n      |         ^^^^\n"));
}

TEST_CASE("parse: nesting beyond all sense is refused, however it is written", "[parse]") {
  const auto repeat = [](const std::string& part, int times) {
    std::string out;
    for (int i = 0; i < times; ++i) out += part;
    return out;
  };
  const int deep = 10'000;
  std::vector<std::string> texts{
      "a = " + repeat("[", deep) + repeat("]", deep),
      "a = " + repeat("[", deep),
      "a = " + repeat("{a = ", deep) + "1" + repeat("}", deep),
      repeat("a.", deep) + "a = 1",
      "[" + repeat("a.", deep) + "a]",
      "[[" + repeat("a.", deep) + "a]]",
      "[" + repeat("\"a\" . ", deep) + "a]",
      "a = {" + repeat("a.", deep) + "a = 1}",
      "a = [" + repeat("{" + repeat("a.", 50) + "a = ", 200) + "1" + repeat("}", 200) + "]",
      "a = [\n" + repeat("[ # not a ]\n", deep) + repeat("]", deep) + "]",
      "a = \"\"\"x\"\"\"\"\"\nb = " + repeat("[", deep),
      "a = '''x'''''\nb = " + repeat("[", deep),
      "a = \"\\\"\"\nb = " + repeat("[", deep),
      "a = ''\nb = " + repeat("[", deep),
      "[a]\r\n" + repeat("b.", deep) + "c = 1",
      repeat("[a" + repeat(".a", 60) + "]\nb" + repeat(".b", 60) + " = 1\n", 1),
  };
  for (const std::string& text : texts) {
    INFO(text.substr(0, 60));
    CHECK_THAT(problem(text), ContainsSubstring("is nested more than 100 levels deep here"));
  }
}

TEST_CASE("parse: dots and brackets that do not nest are no nesting", "[parse]") {
  std::string many = "a = [";
  for (int i = 0; i < 1000; ++i) many += "1.5, [2.5], {b.c = 3.5}, '....[[[[', ";
  many += "]\n# [[[[[[[[ .........\n";
  for (int i = 0; i < 1000; ++i)
    many += "[s" + std::to_string(i) + ".t.u]\nk.l = \"\"\"" + std::string(300, '[') + "\"\"\"\n";
  CHECK(at(parsed(many), "a").as<Array>()->size() == 4000);
  CHECK_FALSE(nested_too_deeply("a = \"" + std::string(500, '.') + "\"").has_value());
}

TEST_CASE("parse: a large list on one line takes no time", "[parse]") {
  std::string text = "\"\xC3\xA4\" = [";
  for (int i = 0; i < 100'000; ++i) text += "[1],";
  text += "]";
  CHECK(parsed(text).as<Table>()->begin()->value.as<Array>()->size() == 100'000);
}

}  // namespace runner
