#include "components/datasets/token_cache.hpp"

#include <catch2/catch_all.hpp>

#include "tests/support/datasets.hpp"
#include "tests/support/files.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace runner;
using namespace runner::testing;

namespace {

namespace fs = std::filesystem;

struct Fixture {
  TemporaryFolder folder;
  EnvironmentVariable cache{"XDG_CACHE_HOME", (folder / "cache").string()};

  // Long enough to be kept: words in an order that repeats late.
  static std::string long_text() {
    std::string text;
    for (unsigned i = 0; text.size() < (3u << 20) / 2; ++i)
      text += "word" + std::to_string(i * i % 9973) + (i % 11 == 0 ? ".\n" : " ");
    return text;
  }
  fs::path kept() const { return folder / "cache/runner/tokens"; }
  std::map<std::string, std::string> files() const {
    std::map<std::string, std::string> found;
    if (!fs::exists(kept())) return found;
    for (const auto& entry : fs::directory_iterator(kept()))
      found[entry.path().extension().string()] += entry.path().filename().string() + " ";
    return found;
  }
  Splits opened(const std::string& tokenizer) {
    return open("text", {{"file", (folder / "input.txt").string()},
                         {"length", 16},
                         {"random_offset", false},
                         {"tokenizer", tokenizer}});
  }
};

bool same_examples(const Splits& one, const Splits& other) {
  const auto middle = one.train->size() / 2;
  return one.train->size() == other.train->size() && one.eval->size() == other.eval->size() &&
         one.learned == other.learned &&
         torch::equal(read(*one.train, {0, middle}).input, read(*other.train, {0, middle}).input) &&
         torch::equal(read(*one.eval, {0, 1}).target, read(*other.eval, {0, 1}).target);
}

}  // namespace

TEST_CASE_METHOD(Fixture, "token cache: a large text is tokenized once, with the same tokens", "[text]") {
  write_file(folder / "input.txt", long_text());
  const std::string tokenizer = GENERATE("char", "bpe");
  const Splits first = opened(tokenizer);
  const auto after_first = files();
  CHECK(after_first.contains(".tokens"));
  CHECK(after_first.contains(".json"));
  const fs::path tokens = kept() / after_first.at(".tokens").substr(0, after_first.at(".tokens").find(' '));
  const Splits second = opened(tokenizer);
  CHECK(same_examples(first, second));
  CHECK(files() == after_first);
  // What the file has is what is used. (Another file: whoever has the old one keeps it.)
  write_file(folder / "zeros", std::string(fs::file_size(tokens), '\0'));
  fs::rename(folder / "zeros", tokens);
  CHECK_FALSE(same_examples(first, opened(tokenizer)));
  fs::remove(tokens);
  CHECK(same_examples(first, opened(tokenizer)));
}

TEST_CASE_METHOD(Fixture, "token cache: another text or tokenizer has tokens of its own", "[text]") {
  write_file(folder / "input.txt", long_text());
  const Splits first = opened("char");
  const auto before = files();
  write_file(folder / "input.txt", "a" + long_text().substr(1));
  const Splits other = opened("char");
  CHECK_FALSE(same_examples(first, other));
  CHECK(files().at(".tokens").size() == 2 * before.at(".tokens").size());
}

TEST_CASE_METHOD(Fixture, "token cache: small texts and those of bytes are not kept", "[text]") {
  write_file(folder / "input.txt", long_text().substr(0, 10'000));
  opened("char");
  write_file(folder / "input.txt", long_text());
  opened("byte");
  CHECK(files().empty());
}

TEST_CASE_METHOD(Fixture, "token cache: sentences are kept as well", "[text]") {
  std::string table = "text,label\n";
  for (int i = 0; table.size() < (3u << 20) / 2; ++i)
    table +=
        "sentence number " + std::to_string(i * 7919 % 99991) + " of many," + (i % 2 == 0 ? "a\n" : "b\n");
  write_file(folder / "input.csv", table);
  const auto read_all = [&] {
    return open("text_classification", {{"file", (folder / "input.csv").string()}, {"length", 8}});
  };
  const Splits first = read_all();
  const auto kept_files = files();
  CHECK(kept_files.contains(".sentences"));
  const Splits second = read_all();
  CHECK(files() == kept_files);
  CHECK(first.learned == second.learned);
  const auto last = first.train->size() - 1;
  CHECK(torch::equal(read(*first.train, {0, 77, last}).input, read(*second.train, {0, 77, last}).input));
  for (const auto& entry : fs::directory_iterator(kept()))
    if (entry.path().extension() == ".sentences") fs::resize_file(entry.path(), entry.file_size() / 2);
  const Splits repaired = read_all();
  CHECK(torch::equal(read(*first.train, {0, 77, last}).input, read(*repaired.train, {0, 77, last}).input));
}
