#include "registry/files/json_lines.hpp"

#include <catch2/catch_all.hpp>
#include <nlohmann/json.hpp>

#include "registry/files/io_error.hpp"

namespace runner {
namespace {

using Catch::Matchers::ContainsSubstring;

std::vector<std::string> objects(std::string_view text) {
  JsonLines lines(text, "f.jsonl");
  std::vector<std::string> found;
  while (lines.next()) found.push_back(std::to_string(lines.line()) + lines.object().dump());
  return found;
}

TEST_CASE("JSON lines and arrays give their objects, with the lines where they begin") {
  const std::vector<std::string> two{"1{\"b\":1,\"a\":\"x\"}", "2{\"a\":null}"};
  CHECK(objects("{\"b\": 1, \"a\": \"x\"}\n{\"a\": null}") == two);
  CHECK(objects("\xef\xbb\xbf{\"b\": 1, \"a\": \"x\"}\r\n{\"a\": null}\r\n\r\n") == two);
  CHECK(objects("[{\"b\": 1, \"a\": \"x\"},\n{\"a\": null}]\n") == two);
  CHECK(objects("\n{\n\"a\": {\"b\": \"}\\\"{\"}\n}\n{}") ==
        std::vector<std::string>{"2{\"a\":{\"b\":\"}\\\"{\"}}", "5{}"});
  CHECK(objects("[]").empty());
}

TEST_CASE("text is told from JSON lines by how it begins") {
  for (const char* json : {"{\"a\":1}", " [ {\"a\":1}]", "\n{ \"a\": 1}", "{}", "\xef\xbb\xbf{\"a\":1}"})
    CHECK(is_json_lines(json));
  for (const char* text : {"", "a,b\n", "{curly}, b\n", "[1, 2]", "[x]", "\"a\",\"b\""})
    CHECK_FALSE(is_json_lines(text));
}

TEST_CASE("damaged JSON lines are refused with their line") {
  const auto [text, why] = GENERATE(table<std::string, std::string>({
      {"{\"a\":1}\n{\"a\":2\n", "f.jsonl:2: the object that begins here is never closed"},
      {"{\"a\":1}\n{\"a\": \"x}\n{\"a\":3}\n", "f.jsonl:2: a text is not closed in this line"},
      {"{\"a\":1}\n7\n", "f.jsonl:2: each line should be an object"},
      {"[{\"a\":1},\n7]", "f.jsonl:2: each entry of the array should be an object"},
      {"[{\"a\":1}\n{\"a\":2}]", "f.jsonl:2: a comma or the end of the array"},
      {"[{\"a\":1},\n{\"a\":2}\n", "f.jsonl:3: the array is never closed"},
      {"[{\"a\":1}]\n{\"a\":2}", "f.jsonl:2: there is text after the end of the array"},
      {"{\"a\":1}\n{\"a\" 2}\n", "f.jsonl:2: this is not valid JSON"},
      {"{\"a\":1e999}", "f.jsonl:1: this is not valid JSON"},
      {"{\"a\":" + std::string(100, '[') + std::string(100, ']') + "}", "f.jsonl:1: it is nested more than"},
  }));
  INFO(text);
  CHECK_THROWS_AS(objects(text), IoError);
  CHECK_THROWS_WITH(objects(text), ContainsSubstring(why));
}

}  // namespace
}  // namespace runner
