#include "runner/checkpoint/state_json.hpp"

#include <catch2/catch_all.hpp>
#include <nlohmann/json.hpp>

using namespace runner;

TEST_CASE("state json: any bytes come back as they were", "[checkpoint]") {
  const std::string bytes = GENERATE(std::string("caf\xC3\xA9"), std::string("caf\xE9"),
                                     std::string("\x80\xBF\xFF"), std::string("\xE2\x82"),
                                     std::string("a\0b", 3), std::string("\xF4\x8F\xBE\x80 \xF4\x8F\xBF\xBF"),
                                     std::string("\xF4\x8F\xBE"), std::string("\xF4\x8F\xBD\xBF"));
  const State state{.integers = {{bytes, 1}}, .numbers = {{bytes, 0.5}}, .texts = {{bytes, bytes}}};
  const std::string text = to_json(state).dump();  // throws if it is not UTF-8
  const State read = state_from_json(nlohmann::json::parse(text), {}, "");
  CHECK(read.integers == state.integers);
  CHECK(read.numbers == state.numbers);
  CHECK(read.texts == state.texts);
}

TEST_CASE("state json: an integer that does not fit into 64 bits is refused", "[checkpoint]") {
  const auto read = [](const std::string& number) {
    const auto json = nlohmann::json::parse(R"({"integers": {"step": )" + number + "}}");
    return state_from_json(json, {}, "").integers.at("step");
  };
  CHECK(read("9223372036854775807") == std::numeric_limits<std::int64_t>::max());
  CHECK(read("-9223372036854775808") == std::numeric_limits<std::int64_t>::min());
  CHECK_THROWS_AS(read("9223372036854775808"), StateError);
  CHECK_THROWS_AS(read("1.0"), StateError);
}

TEST_CASE("state json: well-formed text is readable in the file", "[checkpoint]") {
  CHECK(to_json(State{.texts = {{"class", "th\xC3\xA9"}}})["texts"]["class"] == "th\xC3\xA9");
}
