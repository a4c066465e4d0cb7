#include <unistd.h>

#include <catch2/catch_all.hpp>

#include "registry/files/mapped_file.hpp"
#include "tests/support/datasets.hpp"
#include "tests/support/files.hpp"
#include "tests/support/http_server.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace runner;
using namespace runner::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

namespace fs = std::filesystem;

const std::vector<std::string> cifar10_files = {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                                                "data_batch_4.bin", "data_batch_5.bin", "test_batch.bin"};

// Files of the right size, full of zeros, that take no room on the disk.
void make_sparse(const fs::path& folder, const std::vector<std::string>& names, std::uintmax_t size) {
  for (const std::string& name : names) {
    write_file(folder / name, "");
    fs::resize_file(folder / name, size);
  }
}

void overwrite(const fs::path& path, std::streamoff at, const std::string& bytes) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(at);
  file << bytes;
}

// No cache of the user's and no proxy has a say; nothing is reached beyond loopback.
struct Fixture {
  TemporaryFolder folder;
  EnvironmentVariable cache{"XDG_CACHE_HOME", (folder / "cache").string()};
  EnvironmentVariable no_proxy{"no_proxy", "127.0.0.1"};
  std::string unreachable = "http://127.0.0.1:9/cifar-10-binary.tar.gz";
};

}  // namespace

TEST_CASE("CIFAR-10 as published: counts, first labels, pixels, mean and deviation") {
  const auto data = test_data("cifar-10-batches-bin");
  if (!data) SKIP("CIFAR-10 is not on this machine");
  const std::string dir = GENERATE_COPY(data->string(), data->parent_path().string());
  const Splits splits = open("cifar10", {{"dir", dir}, {"download", false}});
  CHECK(splits.stand_in.empty());
  CHECK(splits.train->size() == 50'000);
  CHECK(splits.eval->size() == 10'000);
  const Batch first = read(*splits.train, {0, 1, 2, 3, 4, 10'000, 49'999});
  // frog, truck, truck, deer, automobile: as everybody sees them first
  CHECK(torch::equal(first.target.narrow(0, 0, 5), torch::tensor({6, 9, 9, 4, 1}, torch::kInt64)));
  CHECK(label(*splits.eval, 0) == 3);

  const MappedFile second(*data / "data_batch_2.bin");
  CHECK(first.target[5].item<std::int64_t>() == second.bytes()[0]);
  CHECK(first.input[5][1][2][3].item<float>() ==
        static_cast<float>(second.bytes()[1 + 1024 + 2 * 32 + 3]) / 255.0f);

  std::vector<std::int64_t> every(5000);
  for (std::size_t i = 0; i < every.size(); ++i) every[i] = static_cast<std::int64_t>(10 * i);
  const torch::Tensor images = read(*splits.train, every).input;
  const DataSpec spec = splits.train->spec();
  for (int channel = 0; channel < 3; ++channel) {
    CHECK(images.select(1, channel).mean().item<double>() == Approx(spec.mean[channel]).margin(0.005));
    CHECK(images.select(1, channel).std().item<double>() == Approx(spec.deviation[channel]).margin(0.005));
  }
}

TEST_CASE_METHOD(Fixture, "CIFAR-10 is downloaded, unpacked, compared and found again") {
  const auto data = test_data("cifar-10-batches-bin");
  if (!data) SKIP("CIFAR-10 is not on this machine");
  shell("tar -cf '" + (folder / "a.tar").string() + "' -C '" + data->parent_path().string() +
        "' cifar-10-batches-bin");
  const HttpServer server({.body = read_text(folder / "a.tar"), .cut_after = 100'000'000});
  const Settings settings = {{"url", server.url("/cifar-10-binary.tar.gz")}};
  const Splits splits = open("cifar10", settings);
  CHECK(splits.stand_in.empty());
  CHECK(label(*splits.train, 0) == 6);
  CHECK(server.requests().size() == 2);
  CHECK(open("cifar10", settings).train->size() == 50'000);
  CHECK(server.requests().size() == 2);
  int entries = 0;
  for (const auto& entry : fs::directory_iterator(folder / "cache" / "runner")) {
    CHECK((entry.path().filename() == "cifar-10-batches-bin" || entry.path().extension() == ".lock"));
    ++entries;
  }
  CHECK(entries == 2);
}

TEST_CASE_METHOD(Fixture, "an archive that is not the published one is refused and leaves nothing") {
  make_sparse(folder / "in" / "cifar-10-batches-bin", cifar10_files, 30'730'000);
  shell("tar -czf '" + (folder / "a.tgz").string() + "' -C '" + (folder / "in").string() +
        "' cifar-10-batches-bin");
  const HttpServer server({.body = read_text(folder / "a.tgz")});
  const std::string name = GENERATE("cifar10", "cifar100");
  CHECK_THROWS_WITH(open(name, {{"url", server.url("/a.tar.gz")}}), ContainsSubstring("SHA-256 differs"));
  for (const auto& entry : fs::directory_iterator(folder / "cache" / "runner"))
    CHECK(entry.path().extension() == ".lock");
}

TEST_CASE_METHOD(Fixture, "data that is nowhere is an error that says what to put where") {
  CHECK_THROWS_AS(open("cifar10", {{"url", unreachable}}), DataError);
  CHECK_THROWS_WITH(open("cifar10", {{"url", unreachable}}),
                    ContainsSubstring("Cannot download " + unreachable) && ContainsSubstring("dataset.dir") &&
                        ContainsSubstring("data_batch_5.bin") && ContainsSubstring("fallback = \"shapes\""));
  CHECK_THROWS_WITH(open("cifar10", {{"dir", (folder / "nothing").string()}, {"download", false}}),
                    ContainsSubstring((folder / "nothing").string()) && ContainsSubstring("switched off"));
  CHECK_THROWS_WITH(open("cifar100", {{"labels", "coarse"}, {"download", false}}),
                    ContainsSubstring("fallback = { name = \"synthetic\", classes = 20 }"));
}

TEST_CASE_METHOD(Fixture, "the fallback stands in for data that is nowhere, and says so") {
  const Splits splits = open("cifar10", {{"url", unreachable}, {"fallback", "shapes"}});
  CHECK_THAT(splits.stand_in, ContainsSubstring("\"shapes\" stands in") &&
                                  ContainsSubstring("CIFAR-10 is not in") && ContainsSubstring(unreachable));
  CHECK(splits.train->size() == 50'000);
  const auto shapes = open("shapes");
  CHECK(torch::equal(read(*splits.train, {5}).input, read(*shapes.train, {5}).input));
}

TEST_CASE_METHOD(Fixture, "the fallback takes the transforms of the dataset it stands in for") {
  const Setting crop = Setting::table({{"name", "center_crop"}, {"size", 24}});
  const Splits splits =
      open("cifar10", {{"download", false}, {"fallback", "shapes"}, {"transform", Setting::list({crop})}});
  CHECK(read(*splits.train, {0}).input.size(2) == 24);
  CHECK_THROWS_WITH(
      dataset("cifar10",
              {{"fallback", Setting::table({{"name", "shapes"}, {"transform", Setting::list({crop})}})}}),
      ContainsSubstring("cannot have its own"));
}

TEST_CASE("a fallback of another shape or number of classes is refused even where it is not needed") {
  CHECK_THROWS_WITH(
      dataset("cifar10", {{"fallback", "fashion_mnist"}}),
      ContainsSubstring("1 x 28 x 28 in 10 classes") && ContainsSubstring("3 x 32 x 32 in 10 classes"));
  CHECK_THROWS_WITH(dataset("cifar100", {{"fallback", "shapes"}}),
                    ContainsSubstring("cannot stand in for CIFAR-100"));
  CHECK_NOTHROW(
      dataset("cifar100", {{"fallback", Setting::table({{"name", "synthetic"}, {"classes", 100}})}}));
}

TEST_CASE_METHOD(Fixture, "files that exist but are wrong are errors, whatever the fallback") {
  const fs::path data = folder / "data";
  const Settings settings = {{"dir", data.string()}, {"fallback", "shapes"}};
  make_sparse(data, cifar10_files, 30'730'000);
  CHECK(open("cifar10", settings).stand_in.empty());

  SECTION("a label out of range") {
    overwrite(data / "data_batch_3.bin", 3073 * 17, "\x0a");
    CHECK_THROWS_WITH(open("cifar10", settings), ContainsSubstring("data_batch_3.bin, record 17") &&
                                                     ContainsSubstring("label 10") &&
                                                     ContainsSubstring("10 classes"));
  }
  SECTION("a truncated file") {
    fs::resize_file(data / "test_batch.bin", 30'000'000);
    CHECK_THROWS_WITH(open("cifar10", settings),
                      ContainsSubstring("test_batch.bin has 30000000 bytes instead of"));
  }
  SECTION("a missing file") {
    fs::remove(data / "data_batch_2.bin");
    CHECK_THROWS_WITH(open("cifar10", settings),
                      ContainsSubstring("only a part of CIFAR-10: data_batch_2.bin"));
  }
  SECTION("a folder in a file's place") {
    fs::remove(data / "data_batch_1.bin");
    fs::create_directory(data / "data_batch_1.bin");
    CHECK_THROWS_AS(open("cifar10", settings), DataError);
  }
  SECTION("a file that may not be read") {
    if (::geteuid() == 0) SKIP("root may read everything");
    fs::permissions(data / "data_batch_1.bin", fs::perms::none);
    CHECK_THROWS_WITH(open("cifar10", settings), ContainsSubstring("Permission denied"));
  }
}

TEST_CASE_METHOD(Fixture, "nothing is downloaded to a folder that holds other files") {
  const HttpServer server({.body = "not needed"});
  write_file(folder / "data/cifar-10-batches-bin/readme.html", "x");
  const Settings settings = {{"dir", (folder / "data").string()},
                             {"url", server.url("/cifar-10-binary.tar.gz")},
                             {"fallback", "shapes"}};
  CHECK_THROWS_WITH(open("cifar10", settings),
                    ContainsSubstring("cifar-10-batches-bin exists, but has none of data_batch_1.bin") &&
                        ContainsSubstring("Remove it, or unpack"));
  CHECK(server.requests().empty());
}

TEST_CASE_METHOD(Fixture, "a file that is cut off during the run is an error that names it") {
  make_sparse(folder.path(), cifar10_files, 10'000 * 3073);
  const Splits splits = open("cifar10", {{"dir", folder.path().string()}, {"download", false}});
  CHECK(read(*splits.train, {10'001}).size() == 1);
  fs::resize_file(folder / "data_batch_2.bin", 3073);
  CHECK(read(*splits.train, {10'000}).size() == 1);
  CHECK_THROWS_WITH(read(*splits.train, {10'001}),
                    ContainsSubstring("data_batch_2.bin") && ContainsSubstring("was truncated"));
}

TEST_CASE_METHOD(Fixture, "CIFAR-100 has two labels to choose from") {
  const fs::path data = folder / "cifar-100-binary";
  make_sparse(data, {"train.bin"}, 50'000 * 3'074);
  make_sparse(data, {"test.bin"}, 10'000 * 3'074);
  overwrite(data / "train.bin", 3'074 * 5, std::string("\x0b\x62\xff", 3));
  const Settings dir = {{"dir", folder.path().string()}};
  const Splits fine = open("cifar100", dir);
  CHECK(fine.train->size() == 50'000);
  CHECK(fine.eval->size() == 10'000);
  CHECK(fine.train->spec().classes == 100);
  CHECK(fine.train->spec().class_names.size() == 100);
  CHECK(label(*fine.train, 5) == 98);
  CHECK(fine.train->spec().class_names[98] == "woman");
  CHECK(read(*fine.train, {5}).input[0][0][0][0].item<float>() == 1.0f);

  const Splits coarse = open("cifar100", {{"dir", folder.path().string()}, {"labels", "coarse"}});
  CHECK(coarse.train->spec().classes == 20);
  CHECK(label(*coarse.train, 5) == 11);
  CHECK(coarse.train->spec().class_names[11] == "large_omnivores_and_herbivores");

  overwrite(data / "train.bin", 3'074 * 6, "\x14");
  CHECK_THROWS_WITH(open("cifar100", {{"dir", folder.path().string()}, {"labels", "coarse"}}),
                    ContainsSubstring("record 6 has the label 20"));
}
