#include <catch2/catch_all.hpp>

#include "tests/support/datasets.hpp"
#include "tests/support/files.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace runner;
using namespace runner::testing;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinAbs;

namespace {

const std::string colour = (source_folder() / "tests/components/images/images/colour.png").string();

Batch read_as(const std::string& name, const Settings& settings, const std::vector<std::string>& inputs) {
  const auto described = part<DatasetKind>(name, settings);
  const auto built = described.build({0});
  return built->interpreter(build_pipeline(described.common.transform, built->spec()), "")->read(inputs);
}

}  // namespace

// Numbers of Pillow 13: Image.open(..).convert("RGB").resize((32, 32), Image.BILINEAR).
TEST_CASE("an image file becomes an example of a dataset whose images are of one size", "[predict]") {
  const Batch batch = read_as("shapes", {}, {colour, colour});
  CHECK(batch.input.sizes() == at::IntArrayRef{2, 3, 32, 32});
  CHECK(!batch.target.defined());
  const torch::Tensor sums = batch.input[1].to(torch::kFloat64).sum({1, 2});
  CHECK_THAT(sums[0].item<double>(), WithinAbs(481.88235294, 1e-3));
  CHECK_THAT(sums[1].item<double>(), WithinAbs(457.78823529, 1e-3));
  CHECK_THAT(sums[2].item<double>(), WithinAbs(413.71764706, 1e-3));
  CHECK(batch.input[0][0][5][7].item<float>() == 53 / 255.0f);
}

// convert("L").resize((28, 28), Image.BILINEAR)
TEST_CASE("an image file becomes grey where the dataset is", "[predict]") {
  const Batch batch = read_as("fashion_mnist", {}, {colour});
  CHECK(batch.input.sizes() == at::IntArrayRef{1, 1, 28, 28});
  CHECK_THAT(batch.input.to(torch::kFloat64).sum().item<double>(), WithinAbs(352.49803922, 1e-3));
  CHECK(batch.input[0][0][3][4].item<float>() == 25 / 255.0f);
  CHECK(batch.input[0][0][20][9].item<float>() == 129 / 255.0f);
}

TEST_CASE("an image file is read as the evaluation part is, without the data", "[predict]") {
  const TemporaryFolder folder;
  const auto images = std::filesystem::path(colour).parent_path();
  for (const std::string place : {"train/cat", "train/dog", "val/cat", "val/dog"}) {
    std::filesystem::create_directories(folder / place);
    std::filesystem::copy_file(images / "colour.jpg", folder / (place + "/1.jpg"));
  }
  const Settings settings = {
      {"dir", folder.path().string()},
      {"transform", Setting::list({Setting::table({{"name", "resize"}, {"height", 9}, {"width", 9}}),
                                   Setting::table({{"name", "random_crop"}, {"size", 8}}),
                                   Setting::table({{"name", "center_crop"}, {"size", 8}, {"when", "eval"}}),
                                   Setting::table({{"name", "normalize"}})})}};
  const auto described = part<DatasetKind>("image_folder", settings);
  const auto built = described.build({0});
  const TransformPipeline transforms = build_pipeline(described.common.transform, built->spec());
  const torch::Tensor expected = read(*built->open(transforms).eval, {0}).input;
  std::filesystem::remove_all(folder / "train");
  CHECK(torch::equal(
      built->interpreter(transforms, "")->read(std::vector{(images / "colour.jpg").string()}).input,
      expected));
}

TEST_CASE("an image that cannot be read is named", "[predict]") {
  CHECK_THROWS_AS(read_as("shapes", {}, {"nowhere.png"}), DataError);
  CHECK_THROWS_WITH(read_as("shapes", {}, {colour, "nowhere.png"}), ContainsSubstring("nowhere.png"));
  const TemporaryFolder folder;
  const std::string text = write_file(folder / "text.png", "no image").string();
  CHECK_THROWS_WITH(read_as("shapes", {}, {text}), ContainsSubstring(text));
}
