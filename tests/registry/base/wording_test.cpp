#include "registry/base/wording.hpp"

#include <catch2/catch_all.hpp>

namespace runner {

TEST_CASE("what a terminal would act on is escaped") {
  CHECK(in_quotes("plain ä 字") == "\"plain ä 字\"");
  CHECK(in_quotes("\x1b[31m\n\t\r\x07") == R"("\x1b[31m\n\t\r\x07")");
  CHECK(in_quotes("\x9b\xff") == R"("\x9b\xff")");  // not UTF-8
  CHECK(in_quotes("\xc2\x9b"
                  "31m") == R"("\u009b31m")");  // one character that begins an escape sequence
  CHECK(in_quotes("a\xe2\x80\xae"
                  "b") == R"("a\u202eb")");  // what follows is written from right to left
}

TEST_CASE("what would bury a message is shortened") {
  const std::string shown = in_quotes(std::string(1'000'000, 'x'));
  CHECK(shown.size() < 130);
  CHECK(shown.ends_with("..\""));
  CHECK(in_quotes(std::string(40, 'x')).size() == 42);
  CHECK(listed({"a", "b\n"}) == "a, b\\n");
  const std::string many = listed(std::vector<std::string>(100'000, "name"));
  CHECK(many.size() < 1200);
  CHECK(many.ends_with(" more"));
}

TEST_CASE("words are joined, and things counted") {
  CHECK(joined({}) == "");
  CHECK(joined({"a", "b", "c"}) == "a, b, c");
  CHECK(joined({"", "b"}, " or ") == "b");
  CHECK(counted(1, "error") == "1 error");
  CHECK(counted(0, "error") == "0 errors");
  CHECK(counted(2, "error") == "2 errors");
}

TEST_CASE("an article fits its noun") {
  CHECK(with_article("optimizer") == "an optimizer");
  CHECK(with_article("model") == "a model");
}

TEST_CASE("a message keeps its lines and its end") {
  CHECK(shown_message("one\n  two\x1b[0m") == "one\n  two\\x1b[0m");
  const std::string shown =
      shown_message("What is wrong: " + std::string(1'000'000, 'x') + ". And the remedy.");
  CHECK(shown.size() < 4096);
  CHECK(shown.starts_with("What is wrong: xxx"));
  CHECK(shown.ends_with("x. And the remedy."));
  for (std::size_t size = 3790; size < 4300; ++size)
    CHECK(shown_message(std::string(size, 'x')).size() < 4096);
}

}  // namespace runner
