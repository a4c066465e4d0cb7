#include "runner/resolve/data_files.hpp"

#include <catch2/catch_all.hpp>
#include <filesystem>

#include "registry/files/io_error.hpp"
#include "runner/resolve/resolve.hpp"
#include "tests/support/files.hpp"
#include "tests/support/recipes.hpp"
#include "tests/support/thorough.hpp"

using namespace runner;
using namespace runner::testing;

namespace {

constexpr const char* recipe = R"(
model = "mlp"
optimizer = "sgd"
train = { epochs = 1 }
[dataset]
name = "text_classification"
files = { good = "good.txt", bad = "bad.txt" }
split = 0.5
tokenizer = { name = "file", path = "tokenizer.json" }
)";

DataFiles files_of(const Recipes& files) {
  Registry registry = Registry::of_linked();
  Diagnostics found;
  const auto resolved = resolve_recipe({files.folder / "main.toml", {}, {}}, registry, found);
  INFO(render(found));
  REQUIRE(resolved);
  return data_files(*resolved, registry);
}

}  // namespace

TEST_CASE("data files: every file that the dataset names counts, by what it holds", "[checkpoint]") {
  Recipes files(recipe);
  files.write("good.txt", "fine\n").write("bad.txt", "poor\n");
  const DataFiles before = files_of(files);
  REQUIRE(before.size() == 2);  // the tokenizer's is missing, which the dataset will say
  CHECK(before.at("dataset.files.bad").size == 5);
  std::filesystem::last_write_time(files.folder / "good.txt", std::filesystem::file_time_type::clock::now());
  CHECK((files_of(files) == before));
  files.write("bad.txt", "pool\n").write("tokenizer.json", "{}");
  const DataFiles now = files_of(files);
  CHECK((now.at("dataset.files.good") == before.at("dataset.files.good")));
  CHECK((now.at("dataset.files.bad") != before.at("dataset.files.bad")));
  CHECK(now.contains("dataset.tokenizer.path"));
}

TEST_CASE("data files: of a huge file only parts are read, its beginning and its end among them",
          "[checkpoint]") {
  const TemporaryFolder folder;
  const auto path = write_file(folder / "huge", "begin");
  constexpr std::uintmax_t terabyte = 1'000'000'000'000;
  std::filesystem::resize_file(path, terabyte);  // takes no room on the disk
  const DataFile before = read_data_file(path);
  CHECK(before.size == terabyte);
  const auto put = [&](std::uintmax_t place, char letter) {
    std::fstream(path, std::ios::in | std::ios::out).seekp(static_cast<std::streamoff>(place)).put(letter);
  };
  put(0, 'B');
  const DataFile other_begin = read_data_file(path);
  CHECK((other_begin != before));
  put(terabyte - 1, 'e');
  CHECK((read_data_file(path) != other_begin));
}

TEST_CASE("data files: a folder counts by the names and sizes of its files, wherever it lies",
          "[checkpoint]") {
  const TemporaryFolder scratch;
  const std::filesystem::path folder = scratch / "data";
  std::filesystem::create_directories(folder / "cats");
  write_file(folder / "cats/1.png", "one");
  write_file(folder / "labels.csv", "1");
  const DataFile before = read_data_folder(folder);
  CHECK(before.size == 2);
  SECTION("moved, with hidden files, a run and a link to a folder") {
    std::filesystem::rename(folder, scratch / "moved");
    std::filesystem::create_directories(scratch / "moved/.cache");
    std::filesystem::create_directories(scratch / "moved/runs/one");
    for (const char* name : {".DS_Store", ".cache/file", "runs/one/run.json", "runs/one/log.txt"})
      write_file(scratch / "moved" / name, "no data");
    std::filesystem::create_directory_symlink(scratch.path(), scratch / "moved/around");
    CHECK((read_data_folder(scratch / "moved") == before));
  }
  const auto differs = [&] { return read_data_folder(folder) != before; };
  SECTION("a file more") {
    write_file(folder / "cats/2.png", "two");
    CHECK(differs());
  }
  SECTION("another name") {
    std::filesystem::rename(folder / "cats/1.png", folder / "cats/3.png");
    CHECK(differs());
  }
  SECTION("another place") {
    std::filesystem::rename(folder / "cats/1.png", folder / "1.png");
    CHECK(differs());
  }
  SECTION("another size") {
    write_file(folder / "cats/1.png", "ones");
    CHECK(differs());
  }
  CHECK_THROWS_AS(read_data_folder(scratch / "nowhere"), IoError);
}

TEST_CASE("data files: in a large folder every name counts, and in a huge one nothing is compared",
          "[checkpoint]") {
  const TemporaryFolder scratch;
  const auto add = [&](int from, int to) {
    for (int i = from; i < to; ++i) std::filesystem::create_symlink("x", scratch / std::to_string(i));
  };
  add(0, 30000);
  const DataFile before = read_data_folder(scratch.path());
  CHECK(before.size == 30000);
  CHECK((read_data_folder(scratch.path()) == before));
  for (const char* name : {"0", "17", "29999"}) {
    std::filesystem::rename(scratch / name, scratch / "other");
    CHECK((read_data_folder(scratch.path()) != before));
    std::filesystem::rename(scratch / "other", scratch / name);
  }
  if (!thorough()) return;
  add(30000, 200001);
  CHECK_THROWS_WITH(read_data_folder(scratch.path()), Catch::Matchers::ContainsSubstring("too many files"));
}

TEST_CASE("data files: what a checkpoint keeps is read back, and damage means nothing is known",
          "[checkpoint]") {
  const TemporaryFolder folder;
  const DataFiles files{{"dataset.train", {7, "ab"}}, {"dataset.eval", {0, "cd", true}}};
  CHECK((read_data_files(write_file(folder / "data.json", to_json(files))) == files));
  CHECK(read_data_files(folder / "missing.json").empty());
  CHECK(read_data_files(write_file(folder / "bad.json", "{\"dataset.train\": [1]")).empty());
  CHECK(read_data_files(write_file(folder / "odd.json", "{\"dataset.train\": {\"size\": -1}}")).empty());
}
