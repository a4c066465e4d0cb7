#include <catch2/catch_all.hpp>

#include "tests/support/datasets.hpp"
#include "tests/support/files.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace runner;
using namespace runner::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

namespace fs = std::filesystem;

std::string idx(const std::vector<int>& shape, const std::string& bytes, char type = 8) {
  std::string file = {0, 0, type, static_cast<char>(shape.size())};
  for (const int size : shape) {
    for (const int shift : {24, 16, 8, 0}) file += static_cast<char>(size >> shift);
  }
  return file + bytes;
}

const std::string pixels_of_three = "abcdefghijklmnopqr";  // 3 images of 2 x 3

// A small set, good until a test spoils it.
struct Fixture {
  TemporaryFolder folder;
  Settings settings = {{"dir", folder.path().string()}};
  fs::path train_images = write_file(folder / "train-images-idx3-ubyte", idx({3, 2, 3}, pixels_of_three));
  fs::path train_labels = write_file(folder / "train-labels-idx1-ubyte", idx({3}, {4, 9, 0}));
  fs::path eval_images = write_file(folder / "t10k-images-idx3-ubyte", idx({1, 2, 3}, "uvwxyz"));
  fs::path eval_labels = write_file(folder / "t10k-labels-idx1-ubyte", idx({1}, {7}));
};

}  // namespace

TEST_CASE_METHOD(Fixture, "idx reads images and labels, plain or gzipped") {
  if (GENERATE(false, true)) shell("gzip '" + train_images.string() + "' '" + eval_labels.string() + "'");
  const Splits splits = open("idx", settings);
  CHECK(splits.train->size() == 3);
  CHECK(splits.eval->size() == 1);
  CHECK(splits.train->spec().input_shape == std::vector<std::int64_t>{1, 2, 3});
  const Batch batch = read(*splits.train, {2, 0});
  CHECK(torch::equal(batch.target, torch::tensor({0, 4}, torch::kInt64)));
  CHECK(batch.input[0][0][1][2].item<float>() == 'r' / 255.0f);
  CHECK(batch.input[1][0][0][1].item<float>() == 'b' / 255.0f);
  CHECK(label(*splits.eval, 0) == 7);
}

TEST_CASE_METHOD(Fixture, "idx takes other names, and the names with a dot that some copies have") {
  fs::rename(train_images, folder / "mine.gz");
  fs::rename(eval_labels, folder / "t10k-labels.idx1-ubyte");
  settings.push_back({"train_images", (folder / "mine").string()});
  CHECK(open("idx", settings).train->size() == 3);
}

TEST_CASE_METHOD(Fixture, "an image to predict is scaled to the size of the training images, without them") {
  const std::string learned = open("idx", settings).learned;
  for (const fs::path& file : {train_images, train_labels, eval_images, eval_labels}) fs::remove(file);
  const auto reader = dataset("idx", settings)->interpreter({}, learned);
  const fs::path image = source_folder() / "tests/components/images/images/grey.png";
  const Batch batch = reader->read(std::vector<std::string>{image.string()});
  CHECK(batch.input.sizes() == torch::IntArrayRef{1, 1, 2, 3});
  for (const std::string damaged : {"{", "[]", "{\"height\": 2}", "{\"height\": 0, \"width\": 3}"})
    CHECK_THROWS_WITH(dataset("idx", settings)->interpreter({}, damaged), ContainsSubstring("dataset.json"));
}

TEST_CASE_METHOD(Fixture, "broken idx files are refused by name") {
  const auto refused = [&](const std::string& file, const std::string& why) {
    CHECK_THROWS_AS(open("idx", settings), DataError);
    CHECK_THROWS_WITH(open("idx", settings), ContainsSubstring(file) && ContainsSubstring(why));
  };
  SECTION("missing") {
    fs::remove(train_labels);
    refused("train-labels-idx1-ubyte", "neither");
  }
  SECTION("empty") {
    write_file(train_images, "");
    refused("train-images", "");
  }
  SECTION("wrong magic") {
    write_file(train_images, "PK" + idx({3, 2, 3}, pixels_of_three));
    refused("train-images", "is not an IDX file");
  }
  SECTION("not bytes") {
    write_file(train_images, idx({3, 2, 3}, pixels_of_three, 0x0D));
    refused("train-images", "not one of bytes");
  }
  SECTION("header cut") {
    write_file(eval_labels, idx({1}, "").substr(0, 6));
    refused("t10k-labels", "within the header");
  }
  SECTION("data cut") {
    write_file(train_images, idx({3, 2, 3}, "abc"));
    refused("train-images", "truncated");
  }
  SECTION("too much data") {
    write_file(train_images, idx({3, 2, 3}, pixels_of_three + "s"));
    refused("train-images", "more data than");
  }
  SECTION("gzip cut") {
    shell("gzip '" + train_images.string() + "'");
    const std::string packed = read_text(folder / "train-images-idx3-ubyte.gz");
    write_file(folder / "train-images-idx3-ubyte.gz", packed.substr(0, packed.size() - 4));
    refused("train-images-idx3-ubyte.gz", "truncated");
  }
  SECTION("gzip with less than announced") {
    write_file(train_images, idx({1000, 28, 28}, "abc"));
    shell("gzip '" + train_images.string() + "'");
    settings.push_back({"train_images", "train-images-idx3-ubyte"});
    refused("train-images-idx3-ubyte.gz", "truncated");
  }
  SECTION("gzip that announces more than such a file can hold") {
    write_file(train_images, idx({0x7fffffff, 28, 28}, "abc"));
    shell("gzip '" + train_images.string() + "'");
    refused("train-images-idx3-ubyte.gz", "more than a hundred times its size");
  }
  SECTION("impossible size") {
    write_file(train_images, idx({0x7fffffff, 0x7fffffff, 0x7fffffff}, "abc"));
    refused("train-images", "impossible");
  }
  SECTION("no images") {
    write_file(train_images, idx({0, 2, 3}, ""));
    refused("train-images", "without any data");
  }
  SECTION("images without pixels") {
    write_file(train_images, idx({2, 0, 3}, ""));
    refused("train-images", "without any data");
  }
  SECTION("labels where images belong") {
    fs::copy_file(train_labels, train_images, fs::copy_options::overwrite_existing);
    refused("train-images", "does not contain images");
  }
  SECTION("images where labels belong") {
    fs::copy_file(train_images, train_labels, fs::copy_options::overwrite_existing);
    refused("train-labels", "does not contain labels");
  }
  SECTION("another number of labels") {
    write_file(train_labels, idx({2}, {4, 9}));
    refused("train-labels", "do not belong together");
  }
  SECTION("label out of range") {
    write_file(train_labels, idx({3}, {4, 10, 0}));
    refused("train-labels", "label 1 is 10");
  }
  SECTION("images of another size to evaluate with") {
    write_file(eval_images, idx({1, 3, 2}, "uvwxyz"));
    refused("t10k-images", "3 x 2 pixels instead of 2 x 3");
  }
}

TEST_CASE("Fashion-MNIST is found where Debian puts it, with its published numbers") {
  if (!fs::exists("/usr/share/datasets/fashion-mnist")) SKIP("dataset-fashion-mnist is not installed");
  const Splits splits = open("fashion_mnist");
  CHECK(splits.train->size() == 60'000);
  CHECK(splits.eval->size() == 10'000);
  const Batch first = read(*splits.train, {0, 1, 2, 3, 4});
  CHECK(torch::equal(first.target, torch::tensor({9, 0, 0, 3, 0}, torch::kInt64)));
  CHECK(torch::equal(read(*splits.eval, {0, 1, 2}).target, torch::tensor({9, 2, 1}, torch::kInt64)));
  std::vector<std::int64_t> every(6000);
  for (std::size_t i = 0; i < every.size(); ++i) every[i] = static_cast<std::int64_t>(10 * i);
  const torch::Tensor images = read(*splits.train, every).input;
  CHECK(images.mean().item<double>() == Approx(splits.train->spec().mean[0]).margin(0.003));
  CHECK(images.std().item<double>() == Approx(splits.train->spec().deviation[0]).margin(0.003));
}

TEST_CASE("without its files, Fashion-MNIST names the package that has them") {
  const TemporaryFolder folder;
  CHECK_THROWS_WITH(
      open("fashion_mnist", {{"dir", folder.path().string()}}),
      ContainsSubstring("apt install dataset-fashion-mnist") && ContainsSubstring("dataset.dir"));
}
