#include <catch2/catch_all.hpp>
#include <set>

#include "tests/support/datasets.hpp"
#include "tests/support/files.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace runner;
using namespace runner::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

struct Fixture {
  TemporaryFolder folder;
  Settings settings = {{"file", (folder / "input.txt").string()}, {"length", 4}};

  void write(const std::string& text) { write_file(folder / "input.txt", text); }
  void set(const std::string& key, Setting value) { settings.push_back({key, std::move(value)}); }
  Splits opened() { return open("text", settings); }
  void refused(const std::string& why) {
    CHECK_THROWS_AS(opened(), DataError);
    CHECK_THROWS_WITH(opened(), ContainsSubstring(why));
  }
  std::unique_ptr<Interpreter> interpreter(const std::string& learned) {
    return dataset("text", settings)->interpreter(build_pipeline({}, {}), learned);
  }
};

torch::Tensor ids(const std::vector<std::int64_t>& values) { return torch::tensor(values, torch::kInt64); }

}  // namespace

TEST_CASE_METHOD(Fixture, "characters are numbered in order, the last share evaluates", "[text]") {
  write("abcdefghij" + std::string("klmnopqrst"));
  set("split", 0.3);
  set("random_offset", false);
  const Splits splits = opened();
  const DataSpec data = splits.train->spec();
  CHECK(data.vocabulary == 20);
  CHECK(data.classes == 20);
  CHECK(data.input_shape == std::vector<std::int64_t>{4});
  CHECK(data.target_shape == std::vector<std::int64_t>{4});
  CHECK(data.input_type == torch::kInt64);
  CHECK(splits.train->size() == 3);
  CHECK(splits.eval->size() == 2);
  const Batch batch = read(*splits.train, {2, 0});
  CHECK(torch::equal(batch.input, torch::stack({ids({8, 9, 10, 11}), ids({0, 1, 2, 3})})));
  CHECK(torch::equal(batch.target, batch.input + 1));
  const Batch eval = read(*splits.eval, {0, 1});
  CHECK(torch::equal(eval.input, torch::stack({ids({14, 15, 16, 17}), ids({18, 0, 0, 0})})));
  CHECK(torch::equal(eval.target, torch::stack({ids({15, 16, 17, 18}), ids({19, -100, -100, -100})})));
  CHECK(dataset("text", settings)->spec().vocabulary == 20);
}

TEST_CASE_METHOD(Fixture, "windows of training begin anywhere, as the seed of the sample says", "[text]") {
  std::string text;
  for (int i = 0; i < 200; ++i) text += static_cast<char>('0' + i % 70);
  write(text);
  const Splits splits = opened();
  std::set<std::int64_t> starts;
  for (std::int64_t seed = 0; seed < 400; ++seed) {
    const Batch batch = read(*splits.train, {seed});
    CHECK(torch::equal(batch.target[0].slice(0, 0, 3), batch.input[0].slice(0, 1)));
    starts.insert(batch.input[0][0].item<std::int64_t>());
  }
  CHECK(starts.size() == 70);
  CHECK(torch::equal(read(*splits.train, {7}).input, read(*splits.train, {7}).input));
}

TEST_CASE_METHOD(Fixture, "code points, not bytes, and never cut in two", "[text]") {
  write("äöü€😀äöü€😀äöü€😀äöü€😀");
  set("split", 0.31);
  const Splits splits = opened();
  CHECK(splits.train->spec().vocabulary == 5);
  const auto read = interpreter(splits.learned);
  CHECK(read->tokens("ä€😀") == std::vector<std::int64_t>{0, 3, 4});
  CHECK(read->text(std::vector<std::int64_t>{4, 3, 2}) == "😀€ü");
  CHECK_THROWS_WITH(read->tokens("äx"), ContainsSubstring("\"x\" (U+0078) is not in the vocabulary of 5"));
  CHECK_THROWS_WITH(read->tokens("\xC3"), ContainsSubstring("The prompt is not UTF-8"));
  CHECK_THROWS_WITH(read->text(std::vector<std::int64_t>{5}), ContainsSubstring("no token 5"));
  CHECK_THROWS_WITH(read->text(std::vector<std::int64_t>{-1}), ContainsSubstring("no token -1"));
}

TEST_CASE_METHOD(Fixture, "bytes are taken as they are", "[text]") {
  write(std::string("\xFF\x00\x80zzzzzzzzzz", 13));
  set("tokenizer", "byte");
  set("split", 0.4);
  set("random_offset", false);
  CHECK(dataset("text", settings)->spec().vocabulary == 256);
  const Splits splits = opened();
  CHECK(torch::equal(read(*splits.train, {0}).input[0], ids({255, 0, 128, 'z'})));
  const auto read = interpreter(splits.learned);
  CHECK(read->tokens("é") == std::vector<std::int64_t>{0xC3, 0xA9});
  CHECK(read->text(std::vector<std::int64_t>{'a', 0xC3, 0xA9, 0xC3}) == "aé\xEF\xBF\xBD");
}

TEST_CASE_METHOD(Fixture, "BPE learns from the training part, or is read from a tokenizer.json", "[text]") {
  std::string text;
  for (int i = 0; i < 50; ++i) text += "the theory of the other thing, " + std::to_string(i) + "\n";
  write(text + std::string(150, 'Z'));
  set("tokenizer", Setting::table({{"name", "bpe"}, {"vocab_size", 280}}));
  CHECK(dataset("text", settings)->spec().vocabulary == 280);
  const Splits splits = opened();
  CHECK(splits.train->spec().vocabulary == 280);
  CHECK(splits.learned.find("ZZ") == std::string::npos);
  const auto learnt = interpreter(splits.learned);
  const auto tokens = learnt->tokens(" the théory");
  CHECK(tokens.size() < 12);
  CHECK(learnt->text(tokens) == " the théory");

  write_file(folder / "tokenizer.json", splits.learned);
  settings = {
      {"file", (folder / "input.txt").string()},
      {"tokenizer", Setting::table({{"name", "file"}, {"path", (folder / "tokenizer.json").string()}})},
      {"length", 4}};
  CHECK(dataset("text", settings)->spec().vocabulary == 280);
  CHECK(interpreter(opened().learned)->tokens(" the théory") == tokens);
  write_file(folder / "tokenizer.json", splits.learned.substr(0, 100));
  refused("tokenizer.json cannot be used as a tokenizer");
}

TEST_CASE_METHOD(Fixture, "more than 256 and more than 65,536 tokens keep their numbers", "[text]") {
  const int count = GENERATE(300, 70'000);
  std::string text;
  for (int i = 0; i < count; ++i) {
    const int code = 0x10000 + i;
    text += {static_cast<char>(0xF0 | code >> 18), static_cast<char>(0x80 | (code >> 12 & 63)),
             static_cast<char>(0x80 | (code >> 6 & 63)), static_cast<char>(0x80 | (code & 63))};
  }
  write(text);
  set("random_offset", false);
  const Splits splits = opened();
  CHECK(splits.train->spec().vocabulary == count);
  const std::int64_t cut = count * 9 / 10;
  CHECK(torch::equal(read(*splits.eval, {5}).target[0], torch::arange(cut + 21, cut + 25)));
}

TEST_CASE_METHOD(Fixture, "a file of its own to evaluate with, and folders of files", "[text]") {
  write_file(folder / "train/b.txt", "cdef");
  write_file(folder / "train/a.txt", "abab");
  write_file(folder / "train/ignored.md", "xyz");
  write_file(folder / "eval.txt", "fedcba");
  settings = {{"file", (folder / "train").string()},
              {"eval_file", (folder / "eval.txt").string()},
              {"length", 5},
              {"random_offset", false}};
  const Splits splits = opened();
  CHECK(splits.train->spec().vocabulary == 7);  // with the line break between the files
  CHECK(torch::equal(read(*splits.train, {0}).input[0], ids({1, 2, 1, 2, 0})));
  CHECK(torch::equal(read(*splits.eval, {0}).target[0], ids({5, 4, 3, 2, 1})));
}

TEST_CASE_METHOD(Fixture, "a byte order mark is no part of the text", "[text]") {
  const std::string mark = "\xEF\xBB\xBF";
  write(mark + "abababababababababab");
  CHECK(opened().train->spec().vocabulary == 2);
  write_file(folder / "texts/a.txt", mark + "ababababab");
  write_file(folder / "texts/b.txt", mark + "cdcdcdcdcd");
  settings = {{"file", (folder / "texts").string()}, {"length", 4}};
  CHECK(opened().train->spec().vocabulary == 5);
}

TEST_CASE_METHOD(Fixture, "less than a window is enough to evaluate with", "[text]") {
  write("twenty characters ..");
  const Splits splits = opened();
  CHECK(splits.eval->size() == 1);
  CHECK(torch::equal(read(*splits.eval, {0}).target[0].slice(0, 1), ids({-100, -100, -100})));
}

TEST_CASE_METHOD(Fixture, "without the file generated text stands in, and says so", "[text]") {
  refused("input.txt");
  set("fallback", "generated");
  const Splits splits = opened();
  CHECK_THAT(splits.stand_in, ContainsSubstring("stand in") && ContainsSubstring("input.txt"));
  CHECK(splits.train->size() > 10'000);
  write("the text itself, long enough for a window in either part of it");
  CHECK(opened().stand_in.empty());
  // A file that cannot be opened is not missing.
  settings = {{"file", (folder / std::string(300, 'x')).string()}, {"fallback", "generated"}};
  refused("Cannot read");
}

TEST_CASE_METHOD(Fixture, "bad text is refused with its place", "[text]") {
  SECTION("not UTF-8") {
    write("one\ntwo\nthr\xE9\x65, and more\n");
    refused("input.txt is not UTF-8: line 3, byte 0xE9 at offset 11. Convert it");
  }
  SECTION("a character that the file ends inside") {
    write("one two three four\xE2\x82");
    refused("line 1, byte 0xE2 at offset 18");
  }
  SECTION("UTF-16 without a byte order mark, which is valid UTF-8") {
    std::string wide;
    for (const char letter : std::string("twenty characters ..")) wide += {letter, '\0'};
    write(wide);
    refused("input.txt is not UTF-8. It is UTF-16. Convert it with: iconv -f utf-16le -t utf-8.");
  }
  SECTION("empty") {
    write("");
    refused("input.txt is empty");
  }
  SECTION("shorter than a window") {
    write("twenty characters ..");
    set("length", 18);
    refused("too short: it has 18 tokens to train on, but 19 are needed");
  }
  SECTION("nothing left to evaluate with") {
    write("nine char");
    refused("too short: it has 1 token to evaluate with, but 2 are needed. Raise dataset.split");
  }
  SECTION("nothing to evaluate with in a file of its own") {
    write("enough text to train on");
    set("eval_file", write_file(folder / "eval.txt", "e").string());
    refused("eval.txt is too short: it has 1 token to evaluate with, but 2 are needed. Give more text.");
  }
  SECTION("a folder without text") {
    std::filesystem::create_directory(folder / "input.txt");
    refused("has no *.txt files");
  }
  SECTION("no such tokenizer") {
    write("twenty characters ..");
    set("tokenizer", Setting::table({{"name", "file"}, {"path", "wordpeace.json"}}));
    refused("/wordpeace.json: set dataset.tokenizer.path to a tokenizer.json");
  }
  SECTION("a tokenizer that cannot be opened") {
    write("twenty characters ..");
    set("tokenizer", Setting::table({{"name", "file"}, {"path", (folder / std::string(300, 'x')).string()}}));
    refused("Cannot open");
  }
}

TEST_CASE_METHOD(Fixture, "a run is evaluated with its own vocabulary, on another text too", "[text]") {
  write("bcdebcdebcdebcdebcdebcde");
  const Splits run = opened();
  write("edcbedcbedcbedcbedcbedce");
  CHECK(open_for_run("text", settings, run).learned == run.learned);
  write("cccccccccccccccccccccccc");
  const Splits again = open_for_run("text", settings, run);
  CHECK(again.eval->spec().vocabulary == 4);
  CHECK(torch::equal(read(*again.eval, {0}).input[0].slice(0, 0, 2), ids({1, 1})));
  CHECK(opened().eval->spec().vocabulary == 1);  // what a new run would learn
  write("abcdabcdabcdabcdabcdabcd");
  CHECK_THROWS_WITH(
      open_for_run("text", settings, run),
      ContainsSubstring("input.txt: The character \"a\" (U+0061) is not in the vocabulary of 4"));
}
