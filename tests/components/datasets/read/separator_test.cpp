#include "components/datasets/read/separator.hpp"

#include <catch2/catch_all.hpp>

namespace runner {
namespace {

TEST_CASE("the separator gives every row the same number of values") {
  CHECK(find_separator("a,b\n1,2\n3,4\n", {}) == ',');
  CHECK(find_separator("a;b\n1;2\n3;4\n", {}) == ';');
  CHECK(find_separator("a\tb\n1\t2\n", {}) == '\t');
  CHECK(find_separator("a|b\n1|2\n", {}) == '|');
  CHECK(find_separator("text\tlabel\none, two\t1\nthree\t0\n", {}) == '\t');
  CHECK(find_separator("alone\n1\n2\n", {}) == ',');
  CHECK(find_separator("", {}) == ',');
}

TEST_CASE("of several separators the one that makes numbers counts") {
  CHECK(find_separator("0,51;0,22;87,3\n1,50;2,25;90,0\n", {}) == ';');
  CHECK(find_separator("a;1,5;2,5\nb;2,5;3,5\n", {}) == ';');
  CHECK(find_separator("id,text\n1,one; two\n2,three; four\n", {}) == ',');
}

TEST_CASE("names of columns say how many values a row has") {
  TableFormat format;
  format.columns = {"a", "b", "c"};
  CHECK(find_separator("1,2;3,4;5,6\n", format) == ';');
  format.columns = {"a", "b", "c", "d"};
  CHECK(find_separator("1,2;3,4;5,6\n", format) == ',');
}

TEST_CASE("rows of different lengths are separated by what the first one has most of") {
  CHECK(find_separator("a;b;c\n1;2\n3;4;5;6\n", {}) == ';');
}

TEST_CASE("the separator is found in rows of any length, whatever ends them") {
  std::string header, row;
  for (int column = 0; column < 30'000; ++column) {
    header += (column > 0 ? "\t" : "") + std::string("gene, ") + std::to_string(column);
    row += column > 0 ? "\t1.5" : "1.5";
  }
  CHECK(find_separator(header + "\n" + row + "\n" + row + "\n", {}) == '\t');
  const std::string long_value(17 << 20, 'x');
  CHECK(find_separator("a;b\r1;2\r" + long_value, {}) == ';');
  CHECK(find_separator("a;b" + long_value + "\n1;2\n", {}) == ';');
}

}  // namespace
}  // namespace runner
