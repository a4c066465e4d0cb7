#include "registry/codec.hpp"

#include <catch2/catch_all.hpp>

#include "registry/conform.hpp"
#include "tests/support/sample_schema.hpp"
#include "tests/support/trees.hpp"

namespace runner {

using sample::Everything;
using testing::list;
using testing::number;
using testing::table;
using testing::text;

TEST_CASE("codec: the defaults of an aggregate survive encoding, conforming and decoding", "[codec]") {
  const Registry registry = sample::registry();
  Diagnostics diagnostics;
  const Value conformed = conform(encode_table(Everything{}), schema_of<Everything>(), registry, diagnostics);
  INFO(render(diagnostics));
  REQUIRE(diagnostics.ok());
  const auto decoded = decode_table<Everything>(conformed, registry);
  CHECK(decoded.count == 3);
  CHECK(decoded.rough == 0.1F);
  CHECK(decoded.limit == seconds(7200));
  CHECK(decoded.buffer.bytes == 25'000'000);
  CHECK_FALSE(decoded.maybe.has_value());
  CHECK_FALSE(decoded.span.has_value());
  CHECK(decoded.sizes == std::vector<std::int64_t>{1, 2});
  CHECK(decoded.weights == std::map<std::string, double>{{"a", 1}});
  CHECK(decoded.gadget.name() == "plain");
  CHECK(testing::toml(conformed, "rough") == "0.1");  // not 0.10000000149011612
}

TEST_CASE("codec: every type of field is decoded from what a recipe writes", "[codec]") {
  const Value tree =
      table({{"flag", Value(Value::Data(true))},
             {"count", Value(Value::Data(1e1))},
             {"small", number(255)},
             {"whole", number(-2147483647)},
             {"ratio", number(1)},
             {"rough", Value(Value::Data(2.5))},
             {"title", text("t")},
             {"colour", text("blue")},
             {"shape", text("square")},
             {"folder", text("/tmp/x")},
             {"every", text("90min")},
             {"limit", text("1d")},
             {"buffer", text("1KiB")},
             {"maybe", number(-4)},
             {"note", text("")},
             {"sizes", list({number(3)})},
             {"tags", list({text("a"), text("b")})},
             {"matrix", list({list({number(1), Value(Value::Data(0.5))}), list({})})},
             {"window", table({{"high", number(3)}})},
             {"span", table({})},
             {"windows", list({table({{"low", number(1)}}), table({})})},
             {"weights", table({{"x y", Value(Value::Data(0.25))}})},
             {"labels", table({{"k", text("v")}})},
             {"gadget", table({{"name", text("tuned")}, {"lr", number(2)}, {"level", number(4)}})},
             {"gadgets",
              list({text("plain"), table({{"name", text("nested")}, {"inner", list({text("tuned")})}})})},
             {"token", text("hush")},
             {"fresh", number(6)}});
  const Registry registry = sample::registry();
  Diagnostics diagnostics;
  const Value conformed = conform(tree, schema_of<Everything>(), registry, diagnostics);
  INFO(render(diagnostics));
  REQUIRE(diagnostics.ok());
  CHECK(diagnostics.warnings() == 0);
  const auto decoded = decode_table<Everything>(conformed, registry);
  CHECK(decoded.flag);
  CHECK(decoded.count == 10);
  CHECK(decoded.small == 255);
  CHECK(decoded.whole == -2147483647);
  CHECK(decoded.ratio == 1.0);
  CHECK(decoded.rough == 2.5F);
  CHECK(decoded.title == "t");
  CHECK(decoded.colour == "blue");
  CHECK(decoded.shape == sample::Shape::square);
  CHECK(decoded.folder == "/tmp/x");
  CHECK(decoded.every == seconds(5400));
  CHECK(decoded.limit == seconds(86400));
  CHECK(decoded.buffer.bytes == 1024);
  CHECK(decoded.maybe == -4);
  CHECK(decoded.note == "");
  CHECK(decoded.sizes == std::vector<std::int64_t>{3});
  CHECK(decoded.tags == std::vector<std::string>{"a", "b"});
  CHECK(decoded.matrix == std::vector<std::vector<double>>{{1, 0.5}, {}});
  CHECK(decoded.window.low == 0);
  CHECK(decoded.window.high == 3);
  CHECK(decoded.span->high == 10);
  CHECK(decoded.windows.size() == 2);
  CHECK(decoded.weights == std::map<std::string, double>{{"x y", 0.25}});
  CHECK(decoded.labels == std::map<std::string, std::string>{{"k", "v"}});
  CHECK(decoded.gadget.common.level == 4);
  CHECK(decoded.gadget.common.strict);
  CHECK(decoded.gadget.build({})->text == "tuned 2.000000");
  CHECK(decoded.gadgets.at(1).build({})->text == "(tuned 0.100000)");
  CHECK(decoded.token == "hush");
  CHECK(decoded.fresh == 6);
}

TEST_CASE("codec: the schema says what the declaration said", "[codec]") {
  const Schema& schema = schema_of<Everything>();
  CHECK(schema.fields.size() == 27);
  CHECK(summary_text(*schema.find("ratio")) == "number, 0 to 1, default 0.5");
  CHECK(summary_text(*schema.find("every")) == "duration, above 0, default \"1ep\"");
  CHECK(summary_text(*schema.find("limit")) == "duration, above 0, in s, default \"2h\"");
  CHECK(summary_text(*schema.find("buffer")) == "size, at least 1, default \"25MB\"");
  CHECK(summary_text(*schema.find("shape")) == "\"round\" or \"square\", default \"round\"");
  CHECK(summary_text(*schema.find("colour")) == "string, \"red\" or \"green\" or \"blue\", default \"red\"");
  CHECK(summary_text(*schema.find("maybe")) == "integer, optional");
  CHECK(summary_text(*schema.find("sizes")) == "list of integer, at least 1, not empty, default [1, 2]");
  CHECK(summary_text(*schema.find("weights")) == "table of number, at least 0, default { a = 1.0 }");
  CHECK(summary_text(*schema.find("gadgets")) == "list of gadget, default []");
  CHECK(summary_text(*schema.find("rough")) == "number, below 10, default 0.1");
  CHECK(summary_text(*schema_of<sample::Demanding>().find("must")) == "integer, required");
  CHECK(schema.find("small")->type.highest == 255);
  CHECK(schema.find("nothing") == nullptr);
}

}  // namespace runner
