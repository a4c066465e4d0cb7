#include <catch2/catch_all.hpp>

#include "registry/base/log.hpp"
#include "tests/support/datasets.hpp"
#include "tests/support/files.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace runner;
using namespace runner::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

struct Fixture {
  TemporaryFolder folder;
  Settings settings = {{"files", Setting::table({{"bad", (folder / "bad.txt").string()},
                                                 {"good", (folder / "good.txt").string()}})},
                       {"length", 4}};

  void write(const std::string& bad, const std::string& good) {
    write_file(folder / "bad.txt", bad);
    write_file(folder / "good.txt", good);
  }
  void table(const std::string& text, const std::string& name = "table.csv") {
    write_file(folder / name, text);
    settings = {{"file", (folder / name).string()}, {"length", 4}, {"split", 0.5}};
  }
  void set(const std::string& key, Setting value) { settings.push_back({key, std::move(value)}); }
  Splits opened() { return open("text_classification", settings); }
  void refused(const std::string& why) {
    CHECK_THROWS_AS(opened(), DataError);
    CHECK_THROWS_WITH(opened(), ContainsSubstring(why));
  }
  void meaningless(const std::string& why) {
    CHECK_THROWS_WITH(part<DatasetKind>("text_classification", settings), ContainsSubstring(why));
  }
};

std::vector<std::int64_t> row(const torch::Tensor& tensor, std::int64_t index = 0) {
  const torch::Tensor values = tensor[index].to(torch::kInt64).contiguous();
  return {values.data_ptr<std::int64_t>(), values.data_ptr<std::int64_t>() + values.numel()};
}

using Ids = std::vector<std::int64_t>;

}  // namespace

TEST_CASE_METHOD(Fixture, "a file for each class: words by frequency, padding and its mask", "[text]") {
  write("it's bad, bad\n\nbad bad It's\n", "  good good\r\nit's very good . good good good\n");
  set("split", 0.5);
  const Splits splits = opened();
  const DataSpec data = splits.train->spec();
  CHECK(data.class_names == std::vector<std::string>{"bad", "good"});
  CHECK(data.classes == 2);
  CHECK(data.input_shape == Ids{4});
  CHECK(data.target_shape.empty());
  CHECK(dataset("text_classification", settings)->spec().vocabulary == data.vocabulary);
  CHECK(splits.train->size() == 2);
  CHECK(splits.eval->size() == 2);
  const Batch batch = read(*splits.train, {1, 0});
  CHECK(row(batch.target.unsqueeze(0)) == Ids{1, 0});
  CHECK(batch.extra.at("mask").scalar_type() == torch::kBool);
  for (std::int64_t i = 0; i < 2; ++i) {
    for (std::size_t j = 0; j < 4; ++j)
      CHECK((row(batch.input, i)[j] == 0) == (row(batch.extra.at("mask"), i)[j] == 0));
  }
  const auto reader =
      dataset("text_classification", settings)->interpreter(build_pipeline({}, {}), splits.learned);
  const std::vector<std::string> sentences = {"IT'S unheard-of, bad or good", "bad", "", "\t"};
  const Batch given = reader->read(sentences);
  CHECK(given.input.sizes() == torch::IntArrayRef{4, 4});
  CHECK_FALSE(given.target.defined());
  CHECK(row(given.extra.at("mask"), 0) == Ids{1, 1, 1, 1});
  CHECK(row(given.input, 0)[1] == 1);
  CHECK(row(given.extra.at("mask"), 1) == Ids{1, 0, 0, 0});
  CHECK(row(given.extra.at("mask"), 2) == Ids{1, 0, 0, 0});
  CHECK(row(given.input, 3) == Ids{0, 0, 0, 0});
  CHECK_THROWS_WITH(reader->read(std::vector<std::string>{"caf\xE9"}), ContainsSubstring("not UTF-8"));
}

TEST_CASE_METHOD(Fixture, "words: the most frequent first, then by name; the rest is unknown", "[text]") {
  table("text,label\nb b b a a c,x\nz z,y\n");
  write_file(folder / "eval.csv", "label,text\ny,C a B!\n");
  settings = {{"file", (folder / "table.csv").string()},
              {"eval_file", (folder / "eval.csv").string()},
              {"length", 5},
              {"tokenizer", Setting::table({{"name", "word"}, {"vocab_size", 5}})}};
  const Splits splits = opened();
  CHECK(splits.train->spec().vocabulary == 5);
  CHECK(row(read(*splits.train, {0}).input) == Ids{2, 2, 2, 3, 3});
  CHECK(row(read(*splits.train, {1}).input) == Ids{4, 4, 0, 0, 0});
  CHECK(row(read(*splits.eval, {0}).input) == Ids{1, 3, 2, 1, 0});
  CHECK(label(*splits.eval, 0) == 1);
}

TEST_CASE_METHOD(Fixture, "tables: quotes, tabs, other columns", "[text]") {
  SECTION("line breaks and separators in quotes") {
    table("label,text\n1,\"a, \"\"b\"\"\nc\"\n0,d\n1,e\n0,f\n");
    const Splits splits = opened();
    CHECK(splits.train->size() + splits.eval->size() == 4);
    CHECK(splits.train->spec().class_names == std::vector<std::string>{"0", "1"});
  }
  SECTION("tabs, no header") {
    table("a b, c\t0\nd\t0\ne\t1\nf\t1\n", "table.tsv");
    set("columns", Setting::list({"sentence", "kind"}));
    set("text", "sentence");
    set("label", "kind");
    CHECK(opened().train->size() == 2);
  }
}

TEST_CASE_METHOD(Fixture, "characters and bytes get a padding of their own", "[text]") {
  write("ab\nab\n", "ba\nba\n");
  SECTION("characters, the unseen one among them") {
    set("tokenizer", "char");
    const Splits splits = opened();
    CHECK(splits.train->spec().vocabulary == 4);
    CHECK(row(read(*splits.train, {0}).input) == Ids{0, 1, 3, 3});
    const auto reader =
        dataset("text_classification", settings)->interpreter(build_pipeline({}, {}), splits.learned);
    CHECK(row(reader->read(std::vector<std::string>{"bé"}).input) == Ids{1, 2, 3, 3});
  }
  SECTION("bytes") {
    set("tokenizer", "byte");
    CHECK(row(read(*opened().train, {0}).input) == Ids{'a', 'b', 256, 256});
  }
}

TEST_CASE_METHOD(Fixture, "neither byte order marks nor the line ends of Windows are part of a sentence",
                 "[text]") {
  write("a\na\n",
        "\xEF\xBB\xBF"
        "b\r\nb\r\n");
  set("split", 0.5);
  set("tokenizer", "char");
  CHECK(opened().train->spec().vocabulary == 4);  // padding, unknown, a, b
}

TEST_CASE_METHOD(Fixture, "each class is split by itself, the same way every time", "[text]") {
  std::string bad, good;
  for (int i = 0; i < 100; ++i) bad += "bad " + std::to_string(i) + "\n";
  for (int i = 0; i < 50; ++i) good += "good " + std::to_string(i) + "\n";
  write(bad, good);
  const Splits first = opened(), again = opened();
  CHECK(first.eval->size() == 15);
  std::int64_t of_good = 0;
  for (std::int64_t i = 0; i < 15; ++i) of_good += label(*first.eval, i);
  CHECK(of_good == 5);
  const auto eval_ids = [](const Splits& splits) { return read(*splits.eval, {0, 1, 2, 3, 4}).input; };
  CHECK(torch::equal(eval_ids(first), eval_ids(again)));
  CHECK(first.learned == again.learned);
  set("split_seed", 2);
  CHECK(first.learned != opened().learned);
}

TEST_CASE_METHOD(Fixture, "Latin-1 is read if the recipe says so", "[text]") {
  write("d\xE9j\xE0 vu\nvu\n", "caf\xE9\ncaf\xE9\n");
  refused("bad.txt is not UTF-8: line 1, byte 0xE9 at offset 1. If it is Latin-1, set dataset.encoding");
  set("encoding", "latin-1");
  CHECK_THAT(opened().learned, ContainsSubstring("café"));
}

TEST_CASE_METHOD(Fixture, "without the files generated sentences stand in", "[text]") {
  refused("bad.txt");
  set("fallback", "generated");
  const Splits splits = opened();
  CHECK_THAT(splits.stand_in, ContainsSubstring("stand in") && ContainsSubstring("bad.txt"));
  CHECK(splits.train->size() == 1800);
  CHECK(splits.train->spec().class_names == std::vector<std::string>{"bad", "good"});
  // A file that cannot be opened is not missing.
  settings = {{"file", (folder / std::string(300, 'x')).string()}, {"fallback", "generated"}};
  refused("Cannot open");
}

TEST_CASE_METHOD(Fixture, "bad sentences are refused with their place", "[text]") {
  SECTION("a file without sentences") {
    write(" \n\n", "good\n");
    refused("bad.txt has no sentences");
  }
  SECTION("an empty file") {
    write("", "good\n");
    refused("bad.txt is empty");
  }
  SECTION("nothing to split") {
    write("bad\n", "good\ngood\n");
    refused("only one sentence of the class \"bad\"");
  }
  SECTION("a row without text") {
    table("text,label\na,0\n,1\n");
    refused("table.csv:3: column \"text\": there is no text");
  }
  SECTION("a ragged row") {
    table("text,label\na,0\nb\n");
    refused("table.csv:3");
  }
  SECTION("no such column") {
    table("sentence,label\na,0\n");
    refused("\"text\"");
  }
  SECTION("no column for what another separator says") {
    settings = {{"file", write_file(folder / "table.tsv", "text,label\na,0\n").string()}};
    refused("only one sentence of the class \"0\"");
  }
  SECTION("no rows") {
    table("text,label\n");
    refused("table.csv");
  }
  SECTION("a class that training does not have") {
    table("text,label\na,0\nb,1\n");
    write_file(folder / "eval.csv", "text,label\na,2\n");
    settings = {{"file", (folder / "table.csv").string()}, {"eval_file", (folder / "eval.csv").string()}};
    refused("eval.csv:2: column \"label\": \"2\" is not a class of the training set");
  }
}

TEST_CASE_METHOD(Fixture, "settings without effect are refused", "[text]") {
  SECTION("neither files nor a file") {
    settings = {};
    meaningless("needs a file for each of at least two classes");
  }
  SECTION("columns of no table") {
    set("text", "sentence");
    meaningless("has no effect without file");
  }
  SECTION("a vocabulary of bytes") {
    set("tokenizer", Setting::table({{"name", "byte"}, {"vocab_size", 300}}));
    meaningless("tokenizer \"byte\" has no parameter \"vocab_size\"");
  }
  SECTION("fewer tokens than bytes") {
    set("tokenizer", Setting::table({{"name", "bpe"}, {"vocab_size", 256}}));
    meaningless("must be above 256");
  }
  SECTION("what was a parameter of the dataset before tokenizers were parts") {
    set("tokenizer", "bpe");
    set("vocab_size", 300);
    meaningless("it belongs to a part of it: \"part.tokenizer.vocab_size\"");
  }
  SECTION("a file where a name is wanted") {
    set("tokenizer", "data/tokenizer.json");
    meaningless("a file is written { name = \"file\", path = \"data/tokenizer.json\" }");
  }
}

TEST_CASE_METHOD(Fixture, "a run is evaluated with its own words and classes", "[text]") {
  const auto write_tables = [&](const std::string& train) {
    write_file(folder / "table.csv", "text,label\n" + train);
    write_file(folder / "eval.csv", "text,label\nb c,y\n");
  };
  settings = {{"file", (folder / "table.csv").string()},
              {"eval_file", (folder / "eval.csv").string()},
              {"length", 3}};
  write_tables("a a a,x\nb b,y\nc,z\n");
  const Splits run = opened();
  CHECK(row(read(*run.eval, {0}).input) == Ids{3, 4, 0});
  write_tables("c c c,y\nb b,z\n");  // another order, and a class less
  const Splits again = open_for_run("text_classification", settings, run);
  CHECK(again.learned == run.learned);
  CHECK(again.eval->spec().class_names == std::vector<std::string>{"x", "y", "z"});
  CHECK(row(read(*again.eval, {0}).input) == Ids{3, 4, 0});
  CHECK(label(*again.eval, 0) == 1);
  CHECK(row(read(*opened().eval, {0}).input) == Ids{3, 2, 0});  // what a new run would learn
  write_tables("c,w\n");
  CHECK_THROWS_WITH(
      open_for_run("text_classification", settings, run),
      ContainsSubstring("table.csv:2: column \"label\": \"w\" is not a class of the training set"));
}

TEST_CASE_METHOD(Fixture, "texts that are cut are counted, and their whole length is known", "[text]") {
  const std::string rows = "one two three four five six,a\ntwo three four five six,b\n";
  table("text,label\n" + rows + rows + rows);
  log::clear_warnings();
  const Splits splits = opened();
  REQUIRE(log::warnings().size() == 1);
  CHECK_THAT(log::warnings()[0],
             ContainsSubstring("table.csv: 2 of 2 training texts (100 %) have more than dataset.length = 4"));
  CHECK_THAT(log::warnings()[0], ContainsSubstring("dataset.length = 6 leaves all of them whole."));
  CHECK(splits.train->details().untruncated_length(0) + splits.train->details().untruncated_length(1) >= 10);
  log::clear_warnings();
  for (auto& [name, value] : settings)
    if (name == "length") value = 6;
  opened();
  CHECK(log::warnings().empty());
}

TEST_CASE_METHOD(Fixture, "JSON lines and compressed tables are read, with the texts alone for predictions",
                 "[text]") {
  table("text,label\nfine film,good\npoor film,bad\nfine,good\npoor,bad\n");
  const Splits plain = opened();
  table(
      "{\"text\": \"fine film\", \"label\": \"good\"}\n{\"label\": \"bad\", \"text\": \"poor film\"}\n"
      "{\"text\": \"fine\", \"label\": \"good\"}\n{\"text\": \"poor\", \"label\": \"bad\"}\n",
      "table.jsonl");
  shell("gzip '" + (folder / "table.jsonl").string() + "'");
  settings[0] = {"file", (folder / "table.jsonl.gz").string()};
  const Splits splits = opened();
  CHECK(splits.learned == plain.learned);
  CHECK(row(read(*splits.train, {0, 1}).input, 1) == row(read(*plain.train, {0, 1}).input, 1));
  const auto interpreter = dataset("text_classification", settings)->interpreter({}, splits.learned);
  using Texts = std::vector<std::string>;
  CHECK(interpreter->inputs_in(write_file(folder / "a.csv", "id,text\n1,\"fine, poor\"\n2,\n")) ==
        Texts{"fine, poor", ""});
  CHECK(interpreter->inputs_in(write_file(folder / "a.jsonl", "{\"text\": \"fine\"}\n")) == Texts{"fine"});
  CHECK_THROWS_WITH(interpreter->inputs_in(write_file(folder / "b.csv", "id,words\n1,fine\n")),
                    ContainsSubstring("no column \"text\""));
}

TEST_CASE_METHOD(Fixture, "lines before a table are skipped, and the remedy that names them is right",
                 "[text]") {
  const std::string rows = "text,label\nfine film,good\npoor film,bad\nfine,good\npoor,bad\n";
  table("Reviews of 2024\n" + rows);
  refused(
      "It has: Reviews of 2024. If its first line is a title, and the names of the columns come after it, "
      "set dataset.skip_lines = 1.");
  set("skip_lines", 1);
  CHECK(opened().train->size() + opened().eval->size() == 4);
}
