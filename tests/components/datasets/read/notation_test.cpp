#include "components/datasets/read/notation.hpp"

#include <catch2/catch_all.hpp>

namespace runner {
namespace {

ColumnNotation column(const std::vector<std::string>& values) {
  ColumnNotation found;
  for (const std::string& value : values) found.add(value);
  return found;
}

struct Case {
  std::vector<std::vector<std::string>> columns;
  char separator, decimal, thousands;
  bool sure;
};

TEST_CASE("how numbers are written is found from all columns of a table", "[csv]") {
  const Case one = GENERATE(
      Case{{{"$2,900", "$372", "$1,250"}}, ',', '.', ',', true},
      Case{{{"2,900", "372", "1,250"}}, ',', '.', ',', true},
      Case{{{"2,900", "1,234,567"}}, ';', '.', ',', true},
      Case{{{"2,900", "3,100"}, {"0.810", "0.5"}}, ';', '.', ',', true},  // one notation for all
      Case{{{"2,900", "3,100"}, {"0,8", "1,25"}}, ';', ',', '\0', true},
      Case{{{"2,95", "3,1"}}, ';', ',', '\0', true}, Case{{{"0,950", "0,125"}}, ';', ',', '\0', true},
      Case{{{"1.234,5", "7"}}, ';', ',', '.', true},
      Case{{{"2.900", "372"}, {"0,5", "1,5"}}, ';', ',', '.', true},
      Case{{{"2.900", "372", "1.250"}}, ';', '.', '\0', false},
      Case{{{"1.5", "2.25", "300"}}, ',', '.', '\0', true}, Case{{{"1 234", "56"}}, ';', '.', ' ', true},
      Case{{{"1\u00a0234", "5\u202f678\u202f901", "56"}}, ',', '.', ' ', true},
      Case{{{"1\u2019234", "1'000'000"}}, ',', '.', '\'', true},
      Case{{{"2,905", "3,125"}}, ';', ',', '\0', false});
  INFO(one.columns[0][0] << " " << one.separator);
  std::vector<ColumnNotation> columns;
  for (const auto& values : one.columns) columns.push_back(column(values));
  std::vector<const ColumnNotation*> all;
  for (const ColumnNotation& each : columns) all.push_back(&each);
  const TableNotation found(all, one.separator);
  CHECK(found.format().decimal == one.decimal);
  CHECK(found.format().thousands == one.thousands);
  CHECK(found.sure() == one.sure);
}

TEST_CASE("a unit after numbers is one if the numbers vary", "[csv]") {
  CHECK(column({"5.251 g", "3.1 g", "12 g"}).numeric());
  CHECK(column({"5.251 g", "3.1 g", "12 g"}).units() == std::vector<std::string>{"g"});
  CHECK_FALSE(column({"36 months", "60 months", "36 months"}).numeric());  // two categories
  CHECK_FALSE(column({"4B", "12C", "7A"}).numeric());
  CHECK(column({"5.2 g", "3.1 kg"}).in_different_units());
  CHECK_FALSE(column({"3rd", "1st"}).in_different_units());
  CHECK(column({"€ 5", "€ 7,50"}).numeric());
}

TEST_CASE("spaces, apostrophes and minus signs of typeset numbers are read", "[csv]") {
  CHECK(parse_number("\u00a05.5\u00a0") == 5.5);
  CHECK(parse_number("1\u2009234,5", {.decimal = ',', .thousands = ' '}) == 1234.5);
  CHECK(parse_number("1\u2019234", {.thousands = '\''}) == 1234);
  CHECK_FALSE(parse_number("1\u00a0234"));
}

}  // namespace
}  // namespace runner
