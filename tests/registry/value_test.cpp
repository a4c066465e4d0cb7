#include "registry/value.hpp"

#include <catch2/catch_all.hpp>

#include <limits>

#include "tests/support/trees.hpp"

namespace runner {

using testing::list;
using testing::number;
using testing::table;
using testing::text;

TEST_CASE("value: a table keeps the order of its keys", "[value]") {
  Table keys;
  keys.set("b", number(1));
  keys.set("a", number(2));
  keys.set("b", number(3));
  CHECK(to_toml(Value(Value::Data(keys))) == "{ b = 3, a = 2 }");
  CHECK(keys.erase("b"));
  CHECK_FALSE(keys.erase("b"));
  CHECK(keys.find("b") == nullptr);
  CHECK(keys.member("a")->key == "a");
}

TEST_CASE("value: the path of a key begins with its table", "[value]") {
  CHECK(key_below("", "optimizer") == "optimizer");
  CHECK(key_below("optimizer.group", "0") == "optimizer.group.0");
}

TEST_CASE("value: equal data, whatever the order of keys and the origin", "[value]") {
  Value elsewhere = number(1);
  elsewhere.origin.line = 7;
  CHECK(same_data(table({{"a", number(1)}, {"b", text("x")}}), table({{"b", text("x")}, {"a", elsewhere}})));
  CHECK_FALSE(same_data(table({{"a", number(1)}}), table({{"a", number(1)}, {"b", number(1)}})));
  CHECK_FALSE(same_data(list({number(1), number(2)}), list({number(2), number(1)})));
  CHECK_FALSE(same_data(number(1), Value(Value::Data(1.0))));
  CHECK_FALSE(same_data(text("1"), number(1)));
  const Value nan{Value::Data(std::numeric_limits<double>::quiet_NaN())};
  CHECK(same_data(nan, nan));
}

TEST_CASE("value: one line of TOML", "[value]") {
  CHECK(to_toml(Value(Value::Data(1.0))) == "1.0");
  CHECK(to_toml(Value(Value::Data(1e-5))) == "1e-05");
  CHECK(to_toml(Value(Value::Data(1e20))) == "1e+20");
  CHECK(to_toml(Value(Value::Data(-0.0))) == "-0.0");
  CHECK(to_toml(Value(Value::Data(std::numeric_limits<double>::infinity()))) == "inf");
  CHECK(to_toml(Value(Value::Data(true))) == "true");
  CHECK(to_toml(number(std::numeric_limits<std::int64_t>::min())) == "-9223372036854775808");
  CHECK(to_toml(text("a\"b\\c\n\t\x01\x7f")) == "\"a\\\"b\\\\c\\n\\t\\u0001\\u007F\"");
  CHECK(to_toml(list({number(1), list({}), table({})})) == "[1, [], {}]");
  CHECK(to_toml(table({{"odd key", number(1)}, {"", number(2)}, {"a-b_C9", number(3)}})) ==
        "{ \"odd key\" = 1, \"\" = 2, a-b_C9 = 3 }");
}

TEST_CASE("value: types in words", "[value]") {
  CHECK(type_name(number(1)) == "an integer");
  CHECK(type_name(Value()) == "a table");
  CHECK(type_name(list({})) == "a list");
  CHECK(type_name(Value(Value::Data(Date{"1979-05-27"}))) == "a date");
}

}  // namespace runner
