#include "components/datasets/read/csv_reader.hpp"

#include <catch2/catch_all.hpp>

#include "components/datasets/read/number.hpp"
#include "registry/files/io_error.hpp"

using namespace runner;
using Catch::Matchers::ContainsSubstring;

namespace {

using Rows = std::vector<std::vector<std::string>>;

Rows rows_of(std::string_view text, const CsvFormat& format = {}) {
  CsvReader reader(text, "f.csv", format);
  Rows rows;
  while (reader.next()) rows.emplace_back(reader.values().begin(), reader.values().end());
  return rows;
}

}  // namespace

// Python's csv.reader gives the same for each, spaces apart.
TEST_CASE("values are as RFC 4180 has them", "[csv]") {
  CHECK(rows_of("a,b\nc,d\n") == Rows{{"a", "b"}, {"c", "d"}});
  CHECK(rows_of("a,b\r\nc,d") == Rows{{"a", "b"}, {"c", "d"}});
  CHECK(rows_of("a,b\rc,d\r") == Rows{{"a", "b"}, {"c", "d"}});
  CHECK(rows_of("\"a,b\",\"c\"\"d\"\"\"\n") == Rows{{"a,b", "c\"d\""}});
  CHECK(rows_of("\"one\r\ntwo\nthree\",x\ny,z") == Rows{{"one\r\ntwo\nthree", "x"}, {"y", "z"}});
  CHECK(rows_of(",\n\"\",\"\"\n") == Rows{{"", ""}, {"", ""}});
  CHECK(rows_of("a,") == Rows{{"a", ""}});
  CHECK(rows_of("5\" disk,x\n") == Rows{{"5\" disk", "x"}});
  CHECK(rows_of("\"\"\"\"") == Rows{{"\""}});
  CHECK(rows_of("").empty());
  CHECK(rows_of("\xef\xbb\xbf"
                "a,b\n") == Rows{{"a", "b"}});
  CHECK(rows_of("Zürich,東京\n") == Rows{{"Zürich", "東京"}});
}

TEST_CASE("separators, spaces, blank lines and comments", "[csv]") {
  CHECK(rows_of("a;b,c\n", {.separator = ';'}) == Rows{{"a", "b,c"}});
  CHECK(rows_of("a\t\tb\n\t\t\n", {.separator = '\t'}) == Rows{{"a", "", "b"}, {"", "", ""}});
  CHECK(rows_of(" a ,\t b c ,  \" d \" , \n") == Rows{{"a", "b c", " d ", ""}});
  CHECK(rows_of(" a , b\n", {.trim = false}) == Rows{{" a ", " b"}});
  CHECK(rows_of("\n\na\n  \n\r\nb\n\n") == Rows{{"a"}, {"b"}});
  CHECK(rows_of("|x,\"\na,b\n| last", {.comment = "|"}) == Rows{{"a", "b"}});
}

TEST_CASE("lines at the beginning are skipped, and counted", "[csv]") {
  CHECK(rows_of("150,4,x\r\n\nname\na\n", {.skip_lines = 2}) == Rows{{"name"}, {"a"}});
  CHECK(rows_of("a\nb", {.skip_lines = 5}).empty());
  CsvReader reader("about\na,b\n1,2,3\n", "f.csv", {.skip_lines = 1});
  REQUIRE(reader.next());
  CHECK(reader.line() == 2);
  reader.expect({"a", "b"});
  CHECK_THROWS_WITH(reader.next(), ContainsSubstring("f.csv:3: ") && ContainsSubstring("dataset.skip_lines"));
}

TEST_CASE("the note of a spreadsheet about the separator is no row", "[csv]") {
  CHECK(rows_of("sep=;\r\na;b\n", {.separator = ';'}) == Rows{{"a", "b"}});
  CHECK(rows_of("sep=;\na;b\nc;d\n", {.separator = ';', .skip_lines = 1}) == Rows{{"a", "b"}, {"c", "d"}});
  CHECK(rows_of("sep=apart\n") == Rows{{"sep=apart"}});
  CsvReader reader("sep=;\na;b\n", "f.csv", {.separator = ';'});
  REQUIRE(reader.next());
  CHECK(reader.line() == 2);
}

TEST_CASE("lines are counted through quotes, blanks and comments", "[csv]") {
  CsvReader reader("#\r\n\n\"a\r\nb\rc\nd\"\ne\n", "f.csv", {.comment = "#"});
  REQUIRE(reader.next());
  CHECK(reader.line() == 3);
  REQUIRE(reader.next());
  CHECK(reader.line() == 7);
  CHECK(!reader.next());
}

TEST_CASE("what is wrong is named with file, line and column", "[csv]") {
  const auto read_all = [](std::string_view text) {
    CsvReader reader(text, "f.csv", {});
    reader.expect({"name", "age"});
    while (reader.next()) continue;
  };
  CHECK_THROWS_WITH(
      read_all("a,1\nb\n"),
      ContainsSubstring("f.csv:2: the row has 1 value, where 2 are expected (name, age). Is a separator or a "
                        "quote missing, or one too many?"));
  CsvReader notes("# two\na,b\n", "f.csv", {});
  REQUIRE(notes.next());
  notes.expect({"# two"});
  CHECK_THROWS_WITH(notes.next(),
                    ContainsSubstring("where 1 is expected") && ContainsSubstring("dataset.comment = \"#\""));
  CHECK_THROWS_WITH(read_all("a,1\n\nb,2,3\n"), ContainsSubstring("f.csv:3: "));
  CHECK_THROWS_WITH(read_all("a,1\nb,\"2\nc,3\n"),
                    ContainsSubstring("f.csv:2: column \"age\": the quote that opens here is never"));
  CHECK_THROWS_WITH(read_all("\"a\"b,1\n"),
                    ContainsSubstring("f.csv:1: column \"name\": there is text after"));
  CHECK_THROWS_WITH(read_all("a,1\ncaf\xe9,2\n"),
                    ContainsSubstring("f.csv:2: column \"name\": \"caf\\xe9\" is not UTF-8"));
}

TEST_CASE("numbers are read whole or not at all", "[csv]") {
  CHECK(parse_number("1.5") == 1.5);
  CHECK(parse_number("+2e3") == 2000);
  CHECK(parse_number("-.5") == -.5);
  CHECK(parse_number("1e-400") == 0);
  CHECK(parse_number("\u22125") == -5);  // a minus sign, not a hyphen
  CHECK(parse_number("\u22121.234,5 €", {.decimal = ',', .thousands = '.', .units = {"€"}}) == -1234.5);
  CHECK(!parse_number("\u2212-5"));
  for (const char* text : {"", "a", "1a", "1,5", "+-1", "0x10", "1 2", "--1"}) CHECK(!parse_number(text));
  for (const char* text : {"inf", "-Infinity", "nan", "1e999", "-1e999"}) {
    REQUIRE(parse_number(text));
    CHECK(!std::isfinite(*parse_number(text)));
  }
}
