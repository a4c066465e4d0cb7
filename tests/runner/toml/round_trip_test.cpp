// Random trees and random recipes: what is written reads back as what it was.
#include <catch2/catch_all.hpp>

#include <limits>
#include <random>

#include "registry/codec.hpp"
#include "registry/conform.hpp"
#include "runner/toml/write.hpp"
#include "tests/support/recipes.hpp"
#include "tests/support/sample_schema.hpp"

namespace runner {
namespace {

class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {}

  std::int64_t below(std::int64_t limit) {
    return std::uniform_int_distribution<std::int64_t>(0, limit - 1)(random_);
  }
  bool maybe() { return below(2) == 0; }

  std::string text() {
    static const std::vector<std::string> pieces{"a",
                                                 "Z",
                                                 "0",
                                                 " ",
                                                 "\"",
                                                 "'",
                                                 "\\",
                                                 "\n",
                                                 "\t",
                                                 "\r",
                                                 "\x01",
                                                 "\x7f",
                                                 "${",
                                                 "$",
                                                 "}",
                                                 "=",
                                                 "#",
                                                 ".",
                                                 "[",
                                                 "]",
                                                 "\xC3\xA9",
                                                 "\xE2\x82\xAC",
                                                 "\xF0\x9F\x98\x80",
                                                 "$${",
                                                 "{",
                                                 ",",
                                                 "-",
                                                 "_",
                                                 "'''",
                                                 "\"\"\"",
                                                 "true",
                                                 "\b"};
    std::string out;
    for (std::int64_t i = below(8); i > 0; --i)
      out += pieces[static_cast<std::size_t>(below(static_cast<std::int64_t>(pieces.size())))];
    return out;
  }

  double number() {
    switch (below(6)) {
      case 0: return static_cast<double>(below(100));
      case 1: return -0.0;
      case 2:
        return std::ldexp(std::uniform_real_distribution<double>(-1, 1)(random_),
                          static_cast<int>(below(2000)) - 1000);
      case 3: return std::numeric_limits<double>::max();
      case 4: return std::numeric_limits<double>::denorm_min();
      default: return std::uniform_real_distribution<double>(-1, 1)(random_);
    }
  }

  std::int64_t integer() {
    switch (below(4)) {
      case 0: return std::numeric_limits<std::int64_t>::min();
      case 1: return std::numeric_limits<std::int64_t>::max();
      case 2: return static_cast<std::int64_t>(random_());
      default: return below(20) - 10;
    }
  }

  Value any(int depth) {
    switch (below(depth > 0 ? 9 : 6)) {
      case 0: return Value(Value::Data(maybe()));
      case 1: return Value(Value::Data(integer()));
      case 2: return Value(Value::Data(number()));
      case 3: return Value(Value::Data(Date{maybe() ? "1979-05-27" : "07:32:00"}));
      case 4:
      case 5: return Value(Value::Data(text()));
      case 6: return array(depth, [&] { return any(depth - 1); });
      case 7: return array(depth, [&] { return table(depth - 1); });
      default: return table(depth - 1);
    }
  }

  Value table(int depth) {
    Table members;
    for (std::int64_t i = below(5); i > 0; --i) members.set(text(), any(depth));
    return Value(Value::Data(std::move(members)));
  }

  template <class Make>
  Value array(int, Make make) {
    Array items;
    for (std::int64_t i = below(4); i > 0; --i) items.push_back(make());
    return Value(Value::Data(std::move(items)));
  }

  // A value that a field of this type takes.
  Value fitting(const TypeInfo& type, const Rules& rules, int depth) {
    const double low = std::max(rules.low, -1e6), high = std::min(rules.high, 1e6);
    switch (type.kind) {
      case TypeInfo::Kind::either: return fitting(type.alternatives.front(), rules, depth);
      case TypeInfo::Kind::boolean: return Value(Value::Data(maybe()));
      case TypeInfo::Kind::integer: {
        const auto lowest =
            static_cast<std::int64_t>(std::max(std::ceil(low), static_cast<double>(type.lowest)));
        const auto highest = static_cast<std::int64_t>(std::min(high, static_cast<double>(type.highest)));
        return Value(Value::Data(lowest + below(highest - lowest + 1)));
      }
      case TypeInfo::Kind::number: {
        const double inside = std::uniform_real_distribution<double>(low, high)(random_);
        return Value(Value::Data(rules.low_excluded && inside == low ? high / 2 : inside));
      }
      case TypeInfo::Kind::string:
      case TypeInfo::Kind::path:
        if (!rules.words.front().empty())
          return Value(Value::Data(std::string(rules.words.at(static_cast<std::size_t>(below(2))))));
        return Value(Value::Data(text() + "x"));
      case TypeInfo::Kind::choice:
        return Value(Value::Data(std::string(
            type.choices.at(static_cast<std::size_t>(below(static_cast<std::int64_t>(type.choices.size()))))
                .name)));
      case TypeInfo::Kind::duration: {
        const std::string amount = std::to_string(1 + below(100'000));
        return Value(Value::Data(amount + (!rules.units.front().empty() || maybe() ? "min"
                                           : maybe()                               ? "step"
                                                                                   : "ep")));
      }
      case TypeInfo::Kind::size:
        return Value(Value::Data(std::to_string(1 + below(5000)) + (maybe() ? "MB" : "KiB")));
      case TypeInfo::Kind::list: {
        Value items = array(depth, [&] { return fitting(*type.element, rules, depth - 1); });
        if (rules.non_empty) items.as<Array>()->push_back(fitting(*type.element, rules, depth - 1));
        return items;
      }
      case TypeInfo::Kind::map: {
        Table members;
        for (std::int64_t i = below(4); i > 0; --i)
          members.set(text(), fitting(*type.element, rules, depth - 1));
        return Value(Value::Data(std::move(members)));
      }
      case TypeInfo::Kind::table: return recipe(type.schema(), depth - 1);
      case TypeInfo::Kind::part: break;
    }
    const Registry registry = sample::registry();
    const std::vector<std::string> names = registry.names(type.part_kind);
    const std::string name =
        depth > 0 ? names.at(static_cast<std::size_t>(below(static_cast<std::int64_t>(names.size()))))
                  : "plain";
    if (maybe()) return Value(Value::Data(name));
    Value part = recipe(registry.find(type.part_kind, name)->schema(), depth - 1);
    part.as<Table>()->set("name", Value(Value::Data(name)));
    return part;
  }

  Value recipe(const Schema& schema, int depth) {
    Table members;
    for (const FieldInfo& field : schema.fields) {
      if (maybe() && !field.rules.secret)
        members.set(std::string(field.name), fitting(field.type, field.rules, depth));
    }
    return Value(Value::Data(std::move(members)));
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace

TEST_CASE("round trip: any tree", "[round_trip]") {
  testing::Recipes recipes;
  for (unsigned seed = 0; seed < 1500; ++seed) {
    const Value tree = Generator(seed).table(4);
    if (tree.as<Table>()->find("extends")) continue;
    const std::string text = write_toml(tree);
    INFO("seed " << seed << "\n" << text);
    recipes.write("main.toml", text);
    const Value again = recipes.load();
    REQUIRE(recipes.said.empty());
    REQUIRE(same_data(again, tree));
    REQUIRE(write_toml(again) == text);
  }
}

TEST_CASE("round trip: any tree on the command line", "[round_trip]") {
  testing::Recipes recipes("");
  for (unsigned seed = 0; seed < 500; ++seed) {
    // As an argument, and with what a reference would be escaped in the strings.
    const Value tree = Generator(seed).table(2);
    const std::string text = to_toml(tree);
    if (text.find("${") != std::string::npos) continue;
    INFO(text);
    const Value again = recipes.load({"x=" + text});
    REQUIRE(recipes.said.empty());
    REQUIRE(same_data(testing::at(again, "x"), tree));
  }
}

TEST_CASE("round trip: any recipe, conformed, written, loaded and conformed again", "[round_trip]") {
  testing::Recipes recipes;
  const Registry registry = sample::registry();
  const Schema& schema = schema_of<sample::Everything>();
  int right = 0;
  for (unsigned seed = 0; seed < 1000; ++seed) {
    Diagnostics diagnostics;
    const Value once = conform(Generator(seed).recipe(schema, 3), schema, registry, diagnostics);
    if (!diagnostics.ok()) continue;  // a check across fields said no
    ++right;
    const std::string text = write_toml(once);
    INFO("seed " << seed << "\n" << text);
    recipes.write("main.toml", text);
    const Value loaded = recipes.load();
    INFO(recipes.said);
    REQUIRE(recipes.said.empty());
    const Value twice = conform(loaded, schema, registry, diagnostics);
    INFO(render(diagnostics));
    REQUIRE(diagnostics.ok());
    REQUIRE(same_data(once, twice));
    REQUIRE(write_toml(twice) == text);
    // What is decoded and encoded again is the same as well.
    const Value encoded =
        conform(encode_table(decode_table<sample::Window>(testing::at(twice, "window"), registry)),
                schema_of<sample::Window>(), registry, diagnostics);
    REQUIRE(same_data(encoded, testing::at(twice, "window")));
  }
  CHECK(right > 300);
}

}  // namespace runner
