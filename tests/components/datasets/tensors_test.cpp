#include <catch2/catch_all.hpp>

#include "components/datasets/selection.hpp"
#include "components/weights/safetensors.hpp"
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
  Settings settings = {{"train", (folder / "train.safetensors").string()},
                       {"eval", (folder / "eval.safetensors").string()}};

  void save(const std::string& part, const torch::Tensor& input, const torch::Tensor& target,
            const std::string& input_name = "input") {
    write_safetensors(folder / (part + ".safetensors"), {{input_name, input}, {"target", target}});
  }
  Splits opened() { return open("tensors", settings); }
};

}  // namespace

TEST_CASE_METHOD(Fixture, "numbers with classes: any float type becomes float32, the classes are counted") {
  const auto type =
      GENERATE(torch::kFloat32, torch::kFloat64, torch::kFloat16, torch::kBFloat16, torch::kFloat8_e4m3fn);
  const torch::Tensor input = torch::randn({6, 4, 5}).to(type), target = torch::tensor({0, 2, 1, 0, 2, 1});
  save("train", input, target.to(GENERATE(torch::kInt64, torch::kInt32, torch::kUInt8, torch::kUInt16)));
  save("eval", input.narrow(0, 0, 2), target.narrow(0, 0, 2));
  const Splits splits = opened();
  CHECK(splits.train->size() == 6);
  CHECK(splits.eval->size() == 2);
  CHECK(splits.train->spec().classes == 3);
  CHECK_FALSE(splits.train->spec().images);
  const Batch batch = read(*splits.train, {5, 1});
  CHECK(batch.input.scalar_type() == torch::kFloat32);
  CHECK(torch::equal(batch.input[0], input[5].to(torch::kFloat32)));
  CHECK(torch::equal(batch.input[1], input[1].to(torch::kFloat32)));
  CHECK(torch::equal(batch.target, torch::tensor({1, 2}, torch::kInt64)));
}

TEST_CASE_METHOD(Fixture, "the label that losses ignore is accepted, but not for images, and no other one") {
  const torch::Tensor input = torch::randn({6, 4}), target = torch::tensor({0, -100, 1, 2, -100, 1});
  save("train", input, target);
  save("eval", input, target);
  const Splits splits = opened();
  CHECK(splits.train->spec().classes == 3);
  CHECK(torch::equal(read(*splits.train, {1, 3}).target, torch::tensor({-100, 2}, torch::kInt64)));
  CHECK(class_counts(*splits.train, 3) == std::vector<std::int64_t>{1, 2, 1});
  save("train", input, target - 1);
  CHECK_THROWS_WITH(opened(), ContainsSubstring("has the class -101") && ContainsSubstring("the label -100"));
  save("train", input, torch::full({6}, -100, torch::kInt64));
  CHECK_THROWS_WITH(opened(), ContainsSubstring("only the label -100"));
  const torch::Tensor images = torch::zeros({6, 3, 4, 4}, torch::kUInt8);
  save("train", images, target);
  save("eval", images, target);
  CHECK_THROWS_WITH(opened(), ContainsSubstring("has the class -100") && ContainsSubstring("remove"));
}

TEST_CASE_METHOD(Fixture, "regression and sequences keep the shape of their targets") {
  SECTION("numbers to numbers") {
    const torch::Tensor input = torch::randn({5, 3}), target = torch::randn({5, 2}).to(torch::kFloat64);
    save("train", input, target);
    save("eval", input, target);
    const Splits splits = opened();
    CHECK(splits.train->spec().classes == 0);
    CHECK(splits.train->spec().target_shape == std::vector<std::int64_t>{2});
    CHECK(torch::equal(read(*splits.train, {3}).target[0], target[3].to(torch::kFloat32)));
  }
  SECTION("tokens to tokens") {
    const torch::Tensor tokens = torch::arange(12, torch::kInt32).view({3, 4});
    save("train", tokens, tokens + 1);
    save("eval", tokens, tokens + 1);
    settings.push_back({"classes", 20});
    const Splits splits = opened();
    CHECK(splits.train->spec().input_type == torch::kInt64);
    CHECK(splits.train->spec().classes == 20);
    CHECK(torch::equal(read(*splits.eval, {2, 0}).target,
                       torch::tensor({{9, 10, 11, 12}, {1, 2, 3, 4}}, torch::kInt64)));
  }
}

TEST_CASE_METHOD(Fixture, "bytes in the shape of images are images, and take transforms") {
  const torch::Tensor input = torch::randint(256, {4, 3, 6, 5}, torch::kUInt8),
                      target = torch::tensor({1, 0, 1, 0})
                                   .to(GENERATE(torch::kInt64, torch::kInt32, torch::kUInt8, torch::kInt8));
  save("train", input, target);
  save("eval", input, target);
  const Setting crop = Setting::table({{"name", "center_crop"}, {"size", 4}});
  settings.push_back({"transform", Setting::list({crop})});
  const Splits splits = opened();
  CHECK(splits.train->spec().images);
  const torch::Tensor image = read(*splits.train, {2}).input[0];
  CHECK(torch::allclose(image, input[2].narrow(1, 1, 4).narrow(2, 0, 4).to(torch::kFloat32) / 255) !=
        torch::allclose(image, input[2].narrow(1, 1, 4).narrow(2, 1, 4).to(torch::kFloat32) / 255));
}

TEST_CASE_METHOD(Fixture, "bytes to predict are images only if those of the training set were") {
  const torch::Tensor input = torch::randint(256, {4, 3, 6, 5}, torch::kUInt8);
  const auto predicted = [&](const torch::Tensor& target) {
    save("train", input, target);
    save("eval", input, target);
    const auto reader = dataset("tensors", settings)->interpreter({}, opened().learned);
    return reader->read(std::vector<std::string>{(folder / "eval.safetensors").string()}).input;
  };
  CHECK(torch::allclose(predicted(torch::tensor({1, 0, 1, 0})), input.to(torch::kFloat32) / 255));
  CHECK(torch::equal(predicted(torch::randn({4})), input.to(torch::kInt64)));
  CHECK(torch::equal(predicted(torch::zeros({4, 6, 5}, torch::kInt64)), input.to(torch::kInt64)));
  CHECK_THROWS_WITH(dataset("tensors", settings)->interpreter({}, "{}"), ContainsSubstring("dataset.json"));
  // Neither scaled nor normalised, they would be something else to the model.
  save("train", input, torch::tensor({1, 0, 1, 0}));
  save("eval", input, torch::tensor({1, 0, 1, 0}));
  const std::string learned = opened().learned;
  for (const auto type : {torch::kInt64, torch::kFloat32}) {
    save("eval", input.to(type), torch::tensor({1, 0, 1, 0}));
    CHECK_THROWS_WITH(
        dataset("tensors", settings)
            ->interpreter({}, learned)
            ->read(std::vector<std::string>{(folder / "eval.safetensors").string()}),
        ContainsSubstring("[4, 3, 6, 5], but the run was trained on images: save bytes (uint8)"));
  }
}

TEST_CASE_METHOD(Fixture, "files that make no dataset are refused by name") {
  const torch::Tensor input = torch::randn({4, 3}), target = torch::tensor({0, 1, 2, 1});
  save("train", input, target);
  save("eval", input, target);
  const auto refused = [&](const std::string& file, const std::string& why) {
    CHECK_THROWS_AS(opened(), DataError);
    CHECK_THROWS_WITH(opened(), ContainsSubstring(file) && ContainsSubstring(why));
  };
  SECTION("missing") {
    std::filesystem::remove(folder / "train.safetensors");
    refused("train.safetensors", "");
  }
  SECTION("not safetensors") {
    write_file(folder / "eval.safetensors", "something else");
    refused("eval.safetensors", "");
  }
  SECTION("truncated") {
    const std::string whole = read_text(folder / "eval.safetensors");
    write_file(folder / "eval.safetensors", whole.substr(0, whole.size() - 5));
    refused("eval.safetensors", "");
  }
  SECTION("no such tensor") {
    save("train", input, target, "x");
    refused("train.safetensors", "no tensor \"input\". It holds: target, x");
  }
  SECTION("other numbers of examples") {
    save("train", input, target.narrow(0, 0, 3));
    refused("train.safetensors", "4 inputs, but 3 targets");
  }
  SECTION("no examples") {
    save("train", input.narrow(0, 0, 0), target.narrow(0, 0, 0));
    refused("train.safetensors", "no examples");
  }
  SECTION("one number") {
    save("train", torch::tensor(1.0f), target);
    refused("train.safetensors", "is one number");
  }
  SECTION("classes that training does not have") {
    save("eval", input, target + 1);
    refused("eval.safetensors", "classes from 1 to 3, but they should be 0 to 2");
  }
  SECTION("negative classes") {
    save("train", input, target - 1);
    refused("train.safetensors", "has the class -1, but classes are numbered from 0");
  }
  SECTION("quantities instead of classes") {
    save("train", input, target + 1'700'000'000);
    refused("train.safetensors", "integers up to 1700000002, which are too many classes");
    save("train", input, torch::full({4}, std::numeric_limits<std::int64_t>::max(), torch::kInt64));
    refused("train.safetensors", "too many classes");
  }
  SECTION("other shapes to evaluate with") {
    save("eval", torch::randn({4, 2}), target);
    refused("eval.safetensors", "do not fit together");
  }
}

TEST_CASE_METHOD(Fixture, "bool labels are classes, several bools per example are numbers") {
  save("train", torch::randn({4, 3}), torch::tensor({true, false, true, true}));
  save("eval", torch::randn({2, 3}), torch::tensor({false, true}));
  const Splits splits = opened();
  CHECK(splits.train->spec().classes == 2);
  CHECK(label(*splits.train, 1) == 0);
  CHECK(label(*splits.train, 2) == 1);
  save("train", torch::randn({4, 3}), torch::ones({4, 5}, torch::kBool));
  save("eval", torch::randn({2, 3}), torch::ones({2, 5}, torch::kBool));
  CHECK(opened().train->spec().target_type == torch::kFloat32);
}

TEST_CASE_METHOD(Fixture, "images with their channels last are refused with the remedy") {
  const auto saved = [&](const torch::Tensor& input) {
    for (const char* part : {"train", "eval"}) save(part, input, torch::tensor({0, 1, 0, 1}));
  };
  saved(torch::zeros({4, 32, 32, 3}, torch::kUInt8));
  CHECK_THROWS_WITH(opened(), ContainsSubstring("channels last") && ContainsSubstring("permute(0, 3, 1, 2)"));
  saved(torch::zeros({4, 32, 32, 3}));
  log::clear_warnings();
  opened();
  REQUIRE(log::warnings().size() == 2);  // one for each file
  CHECK_THAT(log::warnings()[0], ContainsSubstring("channels last"));
  log::clear_warnings();
}

TEST_CASE_METHOD(
    Fixture,
    "a number as target is standardised if the recipe says so, and its scale is warned about if not") {
  const torch::Tensor target = torch::tensor({97.0, 100.0, 103.0, 100.0});
  save("train", torch::randn({4, 3}), target);
  save("eval", torch::randn({2, 3}), torch::tensor({100.0, 106.0}));
  log::clear_warnings();
  opened();
  REQUIRE(log::warnings().size() == 1);
  CHECK_THAT(log::warnings()[0],
             ContainsSubstring("mean 100") && ContainsSubstring("dataset.standardize_target = true"));
  log::clear_warnings();
  settings.emplace_back("standardize_target", true);
  const Splits splits = opened();
  CHECK(log::warnings().empty());
  const DataSpec data = splits.train->spec();
  CHECK(data.target_mean == 100);
  CHECK(data.target_deviation == target.to(torch::kFloat64).std(/*unbiased=*/false).item<double>());
  const torch::Tensor seen = read(*splits.train, {0, 1, 2, 3}).target;
  CHECK(torch::allclose(seen * data.target_deviation + data.target_mean, target.to(torch::kFloat32)));
  CHECK(std::abs(seen.mean().item<float>()) < 1e-6);
  save("train", torch::randn({4, 3}), target * 2);  // of the run, whatever the training file is now
  CHECK(open_for_run("tensors", settings, splits).eval->spec().target_mean == 100);
  save("train", torch::randn({4, 3}), torch::tensor({0, 1, 1, 0}));
  CHECK_THROWS_WITH(opened(), ContainsSubstring("has not one number for each example"));
}

TEST_CASE_METHOD(Fixture, "arrays of other formats are called by their name") {
  for (const char* part : {"train", "eval"})
    write_file(folder / (std::string(part) + ".safetensors"),
               std::string("\x93NUMPY\x01\x00v\x00", 10) + std::string(100, ' '));
  CHECK_THROWS_WITH(opened(), ContainsSubstring("is a NumPy array, not safetensors.") &&
                                  ContainsSubstring("safetensors.numpy.save_file"));
}
