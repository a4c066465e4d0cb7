#include "runner/cli/starters/sheet.hpp"

#include <catch2/catch_all.hpp>

#include "tests/support/files.hpp"
#include "tests/support/temporary_folder.hpp"

namespace runner::testing {
namespace {

using cli::look_at, cli::Sheet;

Sheet look(const std::string& text, const cli::SheetFormat& format = {}) {
  const TemporaryFolder folder;
  return look_at(write_file(folder / "table.csv", text), format);
}

TEST_CASE("sheet: the first row is a header if it differs from the rows below it", "[cli]") {
  const auto [text, header] = GENERATE(table<std::string, bool>({
      {"age,city,buys\n30,Rome,yes\n40,Oslo,no\n50,Rome,yes\n60,Oslo,no\n", true},
      {"text,label\na fine film,good\na poor film,bad\n", true},
      {"0,1,2,label\n5.1,3.5,1.4,0\n4.9,3.0,1.4,1\n4.7,3.2,1.3,0\n", true},
      {"0,1,2,label\n5.1,3.5,1.4,cat\n4.9,3.0,1.4,dog\n4.7,3.2,1.3,cat\n4.6,3.1,1.5,dog\n", true},
      {"country,2019,2020\nItaly,3,4\nNorway,5,6\nItaly,7,8\nNorway,1,2\n", true},
      {",age,buys\n0,30,yes\n1,40,no\n2,50,yes\n", true},
      {"x,y\n?,1\n2,NA\n3,4\n", true},
      {"5.1,3.5,0\n4.9,3.0,1\n4.7,3.2,0\n", false},
      {"?,3.5,0\n4.9,3.0,1\n4.7,3.2,0\n", false},
      {"5.1,3.5,cat\n4.9,3.0,dog\n4.7,3.2,cat\n4.6,3.1,dog\n", false},
      {"Ann,5.1\nBob,4.9\nCarl,4.7\nDora,4.6\n", false},
      {"Rome,yes\nOslo,no\nRome,no\nOslo,yes\n", false},
      {"a fine film,good\na poor film,bad\na great film,good\na dull film,bad\n", false},
  }));
  INFO(text);
  const Sheet sheet = look(text);
  CHECK(sheet.header == header);
  const std::string first_name = text.substr(0, text.find(','));
  CHECK(sheet.columns.front().name == (header ? first_name : "column1"));
  const auto rows = std::ranges::count(text, '\n');
  CHECK(sheet.columns.back().filled >= rows - 2);  // one may be missing, or the header
  if (!header) CHECK(sheet.columns.back().filled == rows);
}

TEST_CASE("sheet: what is known about the file is not guessed", "[cli]") {
  const std::string rows = "x,y\n1,2\n3,4\n";
  CHECK(look("# made by hand; on Monday\n" + rows, {.comment = "#"}).columns.size() == 2);
  CHECK(look("made by hand; on Monday\n" + rows, {.skip_lines = 1}).separator == ",");
  CHECK(look("2019,2020\n1,2\n3,4\n", {.header = true}).columns[1].name == "2020");
  CHECK(look(rows, {.header = false}).columns[1].name == "column2");
}

TEST_CASE("sheet: numbers that are not whole are counted", "[cli]") {
  const Sheet sheet = look("a;b;c\n1.0;0,5;x\n2;2,0;1.5\n3e0;-1,25;y\n");
  CHECK(sheet.columns[0].fractions == 0);
  CHECK(sheet.columns[1].fractions == 2);
  CHECK(sheet.columns[2].fractions == 1);
}

}  // namespace
}  // namespace runner::testing
