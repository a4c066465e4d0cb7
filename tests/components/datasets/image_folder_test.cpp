#include <catch2/catch_all.hpp>

#include <set>

#include "registry/base/log.hpp"
#include "tests/support/datasets.hpp"
#include "tests/support/files.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace runner;
using namespace runner::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

namespace fs = std::filesystem;

const Setting resize_8 = Setting::list(
    {Setting::table({{"name", "resize"}, {"height", 13}, {"width", 21}})});  // the fixtures' own size

struct Fixture {
  TemporaryFolder folder;
  Settings settings = {{"dir", folder.path().string()}, {"transform", resize_8}};

  void put(const std::string& place, const std::string& image = "colour.png") {
    fs::create_directories((folder / place).parent_path());
    fs::copy_file(source_folder() / "tests/components/images/images" / image, folder / place);
  }
  void put_small_set() {
    for (const std::string part : {"train", "val"}) {
      put(part + "/cat/1.png", "colour.png");
      put(part + "/cat/2.PNG", "grey.png");
      put(part + "/dog/deep/1.JPG", "colour.jpg");
    }
    put("train/dog/2.jpeg", "grey.jpg");
  }
};

// The label and the sum of the pixels: enough to tell the fixtures apart.
std::set<std::pair<std::int64_t, float>> contents(const Split& split) {
  std::set<std::pair<std::int64_t, float>> all;
  for (std::int64_t i = 0; i < split.size(); ++i) {
    const Batch batch = read(split, {i});
    all.emplace(batch.target.item<std::int64_t>(), batch.input.sum().item<float>());
  }
  return all;
}

}  // namespace

TEST_CASE("a folder of real photographs is read as Pillow shows it") {
  const auto data = test_data("sign-digits");
  if (!data) SKIP("sign-digits is not on this machine");
  const Setting resize =
      Setting::list({Setting::table({{"name", "resize"}, {"height", 100}, {"width", 100}})});
  const Splits splits = open("image_folder", {{"dir", data->string()}, {"transform", resize}});
  CHECK(splits.train->size() == 400);
  CHECK(splits.eval->size() == 100);
  CHECK(splits.train->spec().class_names ==
        std::vector<std::string>{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"});
  std::vector<std::int64_t> all(400);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int64_t>(i);
  const Batch batch = read(*splits.train, all);
  CHECK(torch::equal(torch::bincount(batch.target), torch::full({10}, 40, torch::kInt64)));
  CHECK(batch.target[0].item<std::int64_t>() == 0);
  CHECK(batch.target[399].item<std::int64_t>() == 9);
  CHECK(batch.input.min().item<float>() >= 0.0f);
  CHECK(batch.input.max().item<float>() <= 1.0f);
  // Computed with Pillow and NumPy over the same 400 files.
  CHECK(batch.input.mean().item<double>() == Approx(0.647705).margin(2e-4));
}

TEST_CASE_METHOD(Fixture, "classes are the folders by name; JPEG and PNG, at any depth, in any case") {
  put_small_set();
  const Splits splits = open("image_folder", settings);
  CHECK(splits.train->spec().class_names == std::vector<std::string>{"cat", "dog"});
  CHECK(splits.train->size() == 4);
  CHECK(splits.eval->size() == 3);
  const Batch batch = read(*splits.train, {0, 1, 2, 3});
  CHECK(torch::equal(batch.target, torch::tensor({0, 0, 1, 1}, torch::kInt64)));
  const std::string rgb = read_text(source_folder() / "tests/components/images/images/colour.png.rgb");
  const auto expected = [&](int channel, int y, int x) {
    return static_cast<float>(
               static_cast<std::uint8_t>(rgb[static_cast<std::size_t>((y * 21 + x) * 3 + channel)])) /
           255.0f;
  };
  CHECK(batch.input[0][0][3][5].item<float>() == expected(0, 3, 5));
  CHECK(batch.input[0][2][12][20].item<float>() == expected(2, 12, 20));
}

TEST_CASE_METHOD(Fixture, "one folder is split by class, the same way for the same seed") {
  for (int i = 0; i < 10; ++i)
    put("cat/" + std::to_string(i) + ".png", i % 2 == 0 ? "colour.png" : "grey.png");
  for (int i = 0; i < 5; ++i) put("dog/" + std::to_string(i) + ".png", "palette.png");
  settings.push_back({"split", 0.2});
  const Splits splits = open("image_folder", settings);
  CHECK(splits.train->size() == 12);
  CHECK(splits.eval->size() == 3);
  CHECK(label(*splits.eval, 0) == 0);
  CHECK(label(*splits.eval, 1) == 0);
  CHECK(label(*splits.eval, 2) == 1);
  CHECK(contents(*splits.eval) == contents(*open("image_folder", settings, 99).eval));
}

TEST_CASE_METHOD(Fixture, "the two parts of a split share no file and miss none") {
  std::set<fs::path> names;
  for (int i = 0; i < 20; ++i) {
    const std::string name = "cat/" + std::to_string(i) + ".png";
    put(name);
    write_file(folder / name, "not an image");  // so that reading it names it
    names.insert(folder / name);
  }
  settings.push_back({"split", 0.25});
  const Splits splits = open("image_folder", settings);
  std::multiset<fs::path> named;
  for (const Split* split : {splits.train.get(), splits.eval.get()}) {
    for (std::int64_t i = 0; i < split->size(); ++i) {
      try {
        read(*split, {i});
      } catch (const DataError& error) {
        const std::string text = error.what();
        const auto start = text.find(folder.path().string());
        named.insert(text.substr(start, text.find(".png", start) + 4 - start));
      }
    }
  }
  CHECK(std::set<fs::path>(named.begin(), named.end()) == names);
  CHECK(named.size() == 20);
}

TEST_CASE_METHOD(Fixture, "a broken image is named when it is read, and the others still can be") {
  put_small_set();
  const std::string jpeg = read_text(folder / "train/dog/2.jpeg");
  const std::string content =
      GENERATE_COPY(std::string("no image"), std::string(), jpeg.substr(0, jpeg.size() / 2));
  write_file(folder / "train/dog/2.jpeg", content);
  const Splits splits = open("image_folder", settings);
  CHECK_THROWS_AS(read(*splits.train, {2}), DataError);
  CHECK_THROWS_WITH(read(*splits.train, {2}), ContainsSubstring((folder / "train/dog/2.jpeg").string()));
  CHECK_NOTHROW(read(*splits.train, {0, 1, 3}));
  fs::remove(folder / "train/cat/1.png");
  CHECK_THROWS_WITH(read(*splits.train, {0}), ContainsSubstring("train/cat/1.png"));
}

TEST_CASE_METHOD(Fixture, "files that are no images are left out with a warning") {
  put_small_set();
  write_file(folder / "train/cat/notes.txt", "x");
  write_file(folder / "train/cat/.hidden", "x");
  put("train/cat/.thumbnails/1.png");
  log::clear_warnings();
  CHECK(open("image_folder", settings).train->size() == 4);
  REQUIRE(log::warnings().size() == 1);
  CHECK_THAT(log::warnings()[0],
             ContainsSubstring("neither JPEG nor PNG: 1, for example") && ContainsSubstring("notes.txt"));
}

TEST_CASE_METHOD(Fixture, "a JPEG file may be called .jfif") {
  put_small_set();
  put("train/dog/3.jfif", "colour.jpg");
  log::clear_warnings();
  CHECK(open("image_folder", settings).train->size() == 5);
  CHECK(log::warnings().empty());
}

TEST_CASE_METHOD(Fixture, "an image that is a link to nothing is an example that cannot be read") {
  put_small_set();
  fs::create_symlink("/nowhere/3.png", folder / "train/cat/3.png");
  const Splits splits = open("image_folder", settings);
  REQUIRE(splits.train->size() == 5);
  CHECK_THROWS_WITH(read(*splits.train, {2}),
                    ContainsSubstring((folder / "train/cat/3.png").string() +
                                      " is a link to /nowhere/3.png, which is missing."));
}

TEST_CASE_METHOD(Fixture, "links that are not followed are warned about") {
  put_small_set();
  put("elsewhere/1.png");
  fs::create_directory_symlink(folder / "elsewhere", folder / "train/cat/more");
  fs::create_directory_symlink("/nowhere", folder / "train/cat/gone");
  fs::create_directory_symlink("/nowhere", folder / "train/emu");  // perhaps a class
  log::clear_warnings();
  CHECK(open("image_folder", settings).train->size() == 4);
  REQUIRE(log::warnings().size() == 2);
  CHECK_THAT(log::warnings()[0], ContainsSubstring("Links to folders") &&
                                     ContainsSubstring("not followed: 1, for example") &&
                                     ContainsSubstring("train/cat/more"));
  CHECK_THAT(log::warnings()[1], ContainsSubstring("what they point to is missing: 2, for example") &&
                                     ContainsSubstring("train/emu"));
}

TEST_CASE_METHOD(Fixture, "a class folder may be a link, and a class may be called train") {
  put("elsewhere/1.png");
  put("elsewhere/2.png");
  for (const char* name : {"bus/1.png", "bus/2.png", "train/1.png", "train/2.png"})
    put("all/" + std::string(name));
  fs::create_directory_symlink(folder / "elsewhere", folder / "all/car");
  settings[0].second = (folder / "all").string();
  settings.push_back({"split", 0.5});
  const Splits splits = open("image_folder", settings);
  CHECK(splits.train->spec().class_names == std::vector<std::string>{"bus", "car", "train"});
  CHECK(splits.train->size() == 3);
}

TEST_CASE_METHOD(Fixture, "folders that make no dataset are refused with what is expected") {
  const auto refused = [&](const std::string& why) {
    CHECK_THROWS_AS(open("image_folder", settings), DataError);
    CHECK_THROWS_WITH(open("image_folder", settings), ContainsSubstring(why));
  };
  SECTION("no folder at all") {
    settings[0].second = (folder / "none").string();
    refused("There is no folder " + (folder / "none").string());
  }
  SECTION("neither train nor val") {
    put("cat/1.png");
    refused("dataset.split = 0.2");
  }
  SECTION("only train") {
    put("train/cat/1.png");
    refused("There is no folder " + (folder / "val").string());
  }
  SECTION("no classes") {
    fs::create_directories(folder / "train");
    fs::create_directories(folder / "val");
    refused("There are no classes in");
  }
  SECTION("a class without images") {
    put_small_set();
    fs::create_directories(folder / "train/ant");
    fs::create_directories(folder / "val/ant");
    refused("There is no image (.jpg, .jpeg, .jfif or .png) in " + (folder / "train/ant").string());
  }
  SECTION("other classes to evaluate with") {
    put_small_set();
    put("val/emu/1.png");
    put("train/fox/1.png");
    refused("only train has fox, only val has emu");
  }
  SECTION("split, although it is split already") {
    put_small_set();
    settings.push_back({"split", 0.5});
    refused("remove dataset.split");
  }
  SECTION("split, although it is split already under other names") {
    put("Training/cat/1.png");
    put("Test/cat/1.png");
    settings.push_back({"split", 0.5});
    refused(
        "is split into Training and Test already: remove dataset.split, set dataset.train = \"Training\", "
        "set dataset.eval = \"Test\".");
  }
  SECTION("a training folder in another case") {
    put("Train/cat/1.png");
    put("val/cat/1.png");
    refused("set dataset.train = \"Train\"");
  }
  SECTION("a class with one image only") {
    put("cat/1.png");
    put("cat/2.png");
    put("dog/only.png");
    settings.push_back({"split", 0.5});
    refused("dog/only.png is the only image of its class");
  }
  SECTION("no transform that makes the images equal") {
    put_small_set();
    settings.pop_back();
    refused("differ in size");
  }
}

TEST_CASE("settings of image_folder that contradict each other are refused") {
  CHECK_THROWS_WITH(dataset("image_folder"), ContainsSubstring("dir"));
  CHECK_THROWS_WITH(dataset("image_folder", {{"dir", "x"}, {"split_seed", 3}}),
                    ContainsSubstring("without split"));
  CHECK_THROWS_WITH(dataset("image_folder", {{"dir", "x"}, {"split", 0.1}, {"eval", "test"}}),
                    ContainsSubstring("cannot be combined with split"));
  CHECK_THROWS_WITH(dataset("image_folder", {{"dir", "x"}, {"split", 1.0}}), ContainsSubstring("split"));
  CHECK_THROWS_WITH(dataset("image_folder", {{"dir", "x"}, {"eval", "train"}}),
                    ContainsSubstring("must not be"));
}
