#include <catch2/catch_all.hpp>

#include "tests/support/datasets.hpp"
#include "tests/support/files.hpp"

using namespace runner;
using namespace runner::testing;

// The numbers are those of pandas 3.1.1 and scikit-learn 1.9.1: read_csv(skipinitialspace=True,
// na_values="?"), StandardScaler and OrdinalEncoder fitted on adult.data and applied to adult.test; ids are
// one higher, and 0 where the encoder is told to give -1.
TEST_CASE("the census of UCI is read as pandas and scikit-learn read it", "[csv]") {
  const auto data = test_data("adult");
  if (!data) SKIP("adult is not on this machine");
  const Splits splits = open(
      "csv", {{"train", (*data / "adult.data").string()},
              {"eval", (*data / "adult.test").string()},
              {"columns",
               Setting::list({"age", "workclass", "fnlwgt", "education", "education_num", "marital_status",
                              "occupation", "relationship", "race", "sex", "capital_gain", "capital_loss",
                              "hours_per_week", "native_country", "income"})},
              {"target", "income"},
              {"comment", "|"},
              {"trim_target", "."}});
  CHECK(splits.train->size() == 32561);
  REQUIRE(splits.eval->size() == 16281);
  CHECK(splits.train->spec().class_names == std::vector<std::string>{"<=50K", ">50K"});
  CHECK(splits.train->spec().categories == std::vector<std::int64_t>{9, 17, 8, 15, 7, 6, 3, 42});
  const auto whole = [](const Split& split) {
    std::vector<std::int64_t> all(static_cast<std::size_t>(split.size()));
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int64_t>(i);
    return read(split, all);
  };
  const Batch train = whole(*splits.train), eval = whole(*splits.eval);
  CHECK(train.target.sum().item<std::int64_t>() == 7841);
  CHECK(eval.target.sum().item<std::int64_t>() == 3846);
  CHECK(torch::allclose(eval.input[0],
                        torch::tensor({-0.9957056173797817, 0.3507741340748241, -1.1974588179219956,
                                       -0.14592048355885348, -0.2166595270325902, -0.03542944697277692},
                                      torch::kFloat32),
                        1e-6, 1e-6));
  CHECK(torch::allclose(eval.input.to(torch::kFloat64).abs().sum(0),
                        torch::tensor({13534.145319710955, 12056.800651837397, 12056.077382637879,
                                       4378.3553127863925, 6748.303279545783, 10063.627522343879},
                                      torch::kFloat64),
                        1e-6, 0));
  const torch::Tensor ids = eval.extra.at("categories");
  CHECK(torch::equal(ids[0], torch::tensor({4, 2, 5, 7, 4, 3, 2, 39}, torch::kInt64)));
  CHECK(torch::equal(
      ids.sum(0), torch::tensor({63065, 183468, 59142, 107253, 39679, 76072, 27141, 599309}, torch::kInt64)));
  CHECK(torch::equal(ids.eq(0).sum(0), torch::tensor({963, 0, 0, 966, 0, 0, 0, 274}, torch::kInt64)));
  CHECK(torch::equal(
      train.extra.at("categories").sum(0),
      torch::tensor({125975, 367881, 117605, 214015, 79656, 151925, 54351, 1195603}, torch::kInt64)));
}
