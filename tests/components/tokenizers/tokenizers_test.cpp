// What HuggingFace's library defines is compared with it in tests/python/test_tokenizers.py.
#include <catch2/catch_all.hpp>

#include "components/datasets/dataset.hpp"
#include "components/tokenizers/regex.hpp"
#include "components/tokenizers/tokenizers.hpp"
#include "components/tokenizers/unicode.hpp"

using namespace runner;
using Catch::Matchers::ContainsSubstring;

namespace {

using Tokens = std::vector<Token>;

Tokens encode(const Tokenizer& tokenizer, std::string_view text) {
  Tokens tokens;
  tokenizer.encode(text, tokens);
  return tokens;
}

std::string there_and_back(const Tokenizer& tokenizer, std::string_view text) {
  return tokenizer.decode(encode(tokenizer, text));
}

const std::string sample = "low lower lowest, new newer newest; wide wider widest\n";

}  // namespace

TEST_CASE("BPE: the most frequent pair first, every byte has a token", "[text]") {
  const auto tokenizer = learn_bpe({sample, sample}, 270);
  CHECK(tokenizer->vocabulary() == 270);
  CHECK(encode(*tokenizer, "low lower").size() < 9);
  for (const char* text : {"low lower", " \n\t  x", "né 😀 中文\r\n", ""})
    CHECK(there_and_back(*tokenizer, text) == text);
  CHECK(tokenizer->decode(Tokens{encode(*tokenizer, "é").front()}) == "\uFFFD");
}

TEST_CASE("BPE ends early where no pair is left, and comes out the same every time", "[text]") {
  const auto tokenizer = learn_bpe({"abab"}, 1000);
  CHECK(tokenizer->vocabulary() == 258);
  CHECK(encode(*tokenizer, "abab") == Tokens{257});
  CHECK(tokenizer->json() == learn_bpe({"abab"}, 1000)->json());
}

TEST_CASE("every tokenizer is the same again from its JSON", "[text]") {
  const std::string text = "Néw lower,  'quoted' widest!";
  const auto tokenizer =
      GENERATE_COPY(as<std::shared_ptr<Tokenizer>>(), byte_tokenizer(), learn_bpe({sample}, 300),
                    learn_words({sample}, 20), char_tokenizer({U'a', U'é'}, true));
  const auto again = read_tokenizer(tokenizer->json(), "dataset.json");
  CHECK(again->vocabulary() == tokenizer->vocabulary());
  CHECK(encode(*again, text) == encode(*tokenizer, text));
  CHECK(again->json() == tokenizer->json());
  CHECK(again->padding() == tokenizer->padding());
}

TEST_CASE("words: letters with apostrophes between them, other signs alone", "[text]") {
  const auto tokenizer = learn_words({"Ärger isn't   'good' -- 3.5\u00A0x"}, 100);
  CHECK(there_and_back(*tokenizer, "ÄRGER ISN'T 'good' x-") == "ärger isn't ' good x -");
  CHECK(there_and_back(*tokenizer, "unheard of") == "\uFFFD \uFFFD");
  CHECK(encode(*tokenizer, " \n").empty());
}

TEST_CASE("what is no tokenizer is refused by its origin", "[text]") {
  const auto refused = [](const std::string& json, const std::string& why) {
    CHECK_THROWS_AS(read_tokenizer(json, "t.json"), DataError);
    CHECK_THROWS_WITH(read_tokenizer(json, "t.json"), ContainsSubstring("t.json") && ContainsSubstring(why));
  };
  refused("", "not valid JSON (line 1, column 1)");
  refused("[1]", "not a JSON object");
  refused(R"({"tokenizer": "other"})", "no tokenizer \"other\"");
  refused(R"({"tokenizer": "char"})", "characters");
  refused(R"({"model": {"type": "BPE", "vocab": {"a": 16777216}, "merges": []}})", "the number 16777216");
  const auto refused_with = [&](const std::string& rest, const std::string& why) {
    refused(R"({"model": {"type": "WordLevel", "vocab": {"a": 0, "<unk>": 1}}, )" + rest + "}", why);
  };
  refused_with(R"("added_tokens": [{"id": 4294967296, "content": "x"}])", "the number 4294967296");
  refused_with(R"("added_tokens": [{"id": 0.5, "content": "x"}])", "added token gives \"id\" the number 0.5");
  refused_with(R"("padding": {"pad_id": 0.5})", "padding gives \"pad_id\" the number 0.5");
  refused_with(R"("post_processor": {"type": "BertProcessing", "cls": ["a", 4294967296], "sep": ["a", 0]})",
               "gives \"cls\" the number 4294967296");
  refused_with(R"("post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "a"}},
                  {"Sequence": {"id": "A"}}], "special_tokens": {"a": {"ids": [0.5]}}})",
               "gives \"a\" the number 0.5");
  refused(R"({"model": {"type": "Trigram", "vocab": []}})", "\"Trigram\" is not supported");
}

TEST_CASE("regular expressions as Oniguruma reads them", "[text]") {
  const auto matches = [](const std::string& pattern, const std::string& text) {
    std::vector<std::string> found;
    Regex(pattern).each(text, [&](const std::string& part, bool match) {
      if (match) found.push_back(part);
    });
    return found;
  };
  using Found = std::vector<std::string>;
  CHECK(matches(R"(\w+)", "né½_①-x") == Found{"né½_①", "x"});
  CHECK(matches(R"(^.)", "ab\ncd\re") == Found{"a", "c"});
  CHECK(matches(R"([^\s]+)", "a\x0b b\u0085c") == Found{"a", "b", "c"});
  CHECK_THROWS_WITH(Regex("(a"), ContainsSubstring("\"(a\" cannot be understood"));
  CHECK_THROWS_WITH(Regex(R"(\h)"), ContainsSubstring("not supported"));
}

TEST_CASE("characters change by themselves, whatever is beside them", "[text]") {
  CHECK(unicode::lowercase("ΣΟΦΌΣ İI ǅ") == "σοφόσ i\u0307i ǆ");
  CHECK(unicode::repaired("a\xE2\x82z\xFF\xF0\x9F") == "a\uFFFDz\uFFFD\uFFFD");
}
