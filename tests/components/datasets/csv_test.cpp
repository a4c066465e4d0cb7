#include <nlohmann/json.hpp>

#include "components/models/model.hpp"
#include "tests/components/datasets/csv_files.hpp"

using namespace runner;
using namespace runner::testing;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinRel;

namespace {

torch::Tensor numbers(std::vector<std::vector<float>> rows) {
  std::vector<torch::Tensor> tensors;
  for (const auto& row : rows) tensors.push_back(torch::tensor(row));
  return torch::stack(tensors);
}

}  // namespace

TEST_CASE_METHOD(CsvFiles, "numbers are standardised and categories numbered by the training part alone",
                 "[csv]") {
  const Splits splits = open("csv", settings);
  const DataSpec spec = splits.train->spec();
  CHECK(spec.input_shape == std::vector<std::int64_t>{2});
  CHECK(spec.categories == std::vector<std::int64_t>{3});
  CHECK(spec.class_names == std::vector<std::string>{"no", "yes"});
  const Batch batch = read(*splits.train, {0, 1, 2, 3});
  // sklearn.preprocessing.StandardScaler after SimpleImputer(strategy="mean"): deviations 16.3299 over the
  // three values that are there.
  const float a = 1.224745f;
  CHECK(torch::allclose(batch.input, numbers({{-a, -a}, {0, a}, {0, 0}, {a, 0}}), 0, 1e-5));
  CHECK(torch::equal(batch.extra.at("categories"), torch::tensor({{2}, {1}, {2}, {0}}, torch::kInt64)));
  CHECK(torch::equal(batch.target, torch::tensor({0, 1, 1, 0}, torch::kInt64)));
  const Batch other = read(*splits.eval, {0});
  CHECK(torch::allclose(other.input, numbers({{-10 / 16.3299f, 5 / 8.16497f}}), 0, 1e-5));
  CHECK(other.extra.at("categories").item<std::int64_t>() == 0);  // Paris is new
}

TEST_CASE_METHOD(CsvFiles, "one-hot categories are part of the input; none where they are missing", "[csv]") {
  const Splits splits = open("csv", with({{"categories", "one_hot"}, {"standardize", false}}));
  CHECK(splits.train->spec().input_shape == std::vector<std::int64_t>{4});
  CHECK(splits.train->spec().categories.empty());
  const Batch batch = read(*splits.train, {3, 0, 1});
  CHECK(torch::equal(batch.input, numbers({{60, 60, 0, 0}, {20, 50, 0, 1}, {40, 70, 1, 0}})));
  CHECK(batch.extra.empty());
}

TEST_CASE_METHOD(CsvFiles, "missing values can have indicator inputs", "[csv]") {
  const Splits splits = open("csv", with({{"missing_indicator", true}, {"standardize", false}}));
  const Batch batch = read(*splits.train, {1, 2});
  CHECK(torch::equal(batch.input, numbers({{40, 70, 0, 0}, {40, 60, 1, 1}})));
}

TEST_CASE_METHOD(CsvFiles, "a number can be the target", "[csv]") {
  const Splits splits = open("csv", with({{"target", "weight"},
                                          {"task", "regression"},
                                          {"standardize_target", false},
                                          {"train", (folder / "eval.csv").string()}}));
  CHECK(splits.train->spec().classes == 0);
  CHECK(splits.train->spec().target_type == torch::kFloat32);
  CHECK(read(*splits.train, {0}).target.item<float>() == 65);
}

TEST_CASE_METHOD(CsvFiles, "a number as target is standardised by the training part, and the spec says how",
                 "[csv]") {
  write("x,y\n1,100\n2,300\n3,500\n", "x,y\n1,900\n");
  const Splits splits = open("csv", with({{"target", "y"}, {"task", "regression"}}));
  const double deviation = std::sqrt(80000.0 / 3);
  CHECK_THAT(splits.train->spec().target_mean, WithinRel(300, 1e-12));
  CHECK_THAT(splits.train->spec().target_deviation, WithinRel(deviation, 1e-12));
  CHECK_THAT(read(*splits.train, {0}).target.item<float>(), WithinRel(-200 / deviation, 1e-6));
  CHECK_THAT(read(*splits.eval, {0}).target.item<float>(), WithinRel(600 / deviation, 1e-6));
  const Settings plain = with({{"target", "y"}, {"task", "regression"}, {"standardize_target", false}});
  CHECK(read(*open("csv", plain).eval, {0}).target.item<float>() == 900);
  CHECK_THROWS_WITH(dataset("csv", with({{"standardize_target", true}})),
                    ContainsSubstring("is for regression"));
}

TEST_CASE_METHOD(CsvFiles, "numbers in another notation are reported, and read if the recipe says how",
                 "[csv]") {
  const auto table = [](const std::string& cell) {
    std::string rows = "price;buys\n";
    for (int i = 0; i < 10; ++i) rows += cell + (i % 2 ? ";yes\n" : ";no\n");
    return rows;
  };
  const auto prices = [&](const std::string& cell, Settings how) {
    write(table(cell), table(cell));
    how.emplace_back("standardize", false);
    return read(*open("csv", with(how)).train, {0}).input.item<float>();
  };
  refuses(table("1.234,50"), "\"1.234,50\" in line 2");
  refuses(table("1.234,50"), "dataset.decimal = \",\", dataset.thousands = \".\"");
  refuses(table("1.5"), "set how they are written (dataset.decimal = \".\")", {{"decimal", ","}});
  refuses(table("1,234,567"), "dataset.thousands = \",\"");
  refuses(table("€ 12"), "dataset.units = [\"€\"]");
  refuses(table("12 %"), "dataset.units = [\"%\"]");
  CHECK(prices("1.234,50", {{"decimal", ","}, {"thousands", "."}}) == 1234.5F);
  CHECK(prices("-€1,50", {{"decimal", ","}, {"units", Setting::list({"€"})}}) == -1.5F);
  CHECK(prices("1'234'567", {{"thousands", "'"}}) == 1234567.F);
  refuses(table("1,23,456"), "not a number", {{"thousands", ","}, {"numeric", Setting::list({"price"})}});
  // Codes and dates are no numbers in any notation.
  for (const std::string cell : {"10.0.0.1", "2020-01-02", "A12", "1,23,4"}) {
    write(table(cell), table(cell));
    CHECK(open("csv", settings).train->spec().categories == std::vector<std::int64_t>{2});
  }
}

TEST_CASE_METHOD(CsvFiles, "the separator is recognised", "[csv]") {
  for (const std::string separator : {",", ";", "\t", "|"}) {
    const std::string rows = "age" + separator + "buys\n1" + separator + "no\n2" + separator + "yes\n";
    write(rows, rows);
    CHECK(open("csv", settings).train->size() == 2);
  }
  write("a;b;buys\n1,5;2,5;no\n3,5;4,5;yes\n", "a;b;buys\n1,5;2,5;no\n");
  const Splits splits = open("csv", with({{"decimal", ","}, {"standardize", false}}));
  CHECK(torch::equal(read(*splits.train, {0}).input, torch::tensor({{1.5F, 2.5F}})));
  const auto reader =
      dataset("csv", with({{"decimal", ","}, {"standardize", false}}))->interpreter({}, splits.learned);
  CHECK(torch::equal(reader->read(std::vector<std::string>{"3,5;4,5"}).input, torch::tensor({{3.5F, 4.5F}})));
}

TEST_CASE_METHOD(CsvFiles, "settings for columns are followed", "[csv]") {
  const Splits splits =
      open("csv", with({{"categorical", Setting::list({"age"})}, {"ignore", Setting::list({"city"})}}));
  CHECK(splits.train->spec().input_shape == std::vector<std::int64_t>{1});
  CHECK(splits.train->spec().categories == std::vector<std::int64_t>{4});
  CHECK_THROWS_WITH(open("csv", with({{"ignore", Setting::list({"citi"})}})),
                    ContainsSubstring("no column \"citi\"; did you mean \"city\"? It has: age, city"));
  CHECK_THROWS_WITH(open("csv", with({{"target", "bys"}})),
                    ContainsSubstring("no column \"bys\"; did you mean \"buys\"?"));
}

TEST_CASE_METHOD(CsvFiles, "classes that are numbers are in the order of numbers", "[csv]") {
  write("x,y\n1,10\n2,9\n3,-1\n", "y,x\n9,5\n");
  const Splits splits = open("csv", with({{"target", "y"}}));
  CHECK(splits.train->spec().class_names == std::vector<std::string>{"-1", "9", "10"});
  CHECK(label(*splits.eval, 0) == 1);  // the columns may be in another order there
}

TEST_CASE_METHOD(CsvFiles, "columns can be named by the recipe, for or instead of a header", "[csv]") {
  write("150,4,b\n5.1;3.5;0\n4.9;3.0;1\n", "1;2\n5.0;3.1;0\n");
  const Settings named = with({{"columns", Setting::list({"length", "width", "kind"})},
                               {"target", "kind"},
                               {"separator", ";"},
                               {"header", true}});
  const Splits splits = open("csv", named);
  CHECK(splits.train->size() == 2);
  CHECK(splits.eval->size() == 1);
  write("x\ty\n1\t0\n2\t1\n", "x\ty\n1\t0\n");
  CHECK(open("csv", with({{"separator", "tab"}, {"target", "y"}})).train->size() == 2);
  write("5.1,3.5,0\n4.9,3.0,1\n", "5.0,3.1,0\n");
  CHECK(open("csv", with({{"columns", Setting::list({"length", "width", "kind"})}, {"target", "kind"}}))
            .train->size() == 2);
  CHECK_THROWS_WITH(open("csv", with({{"header", false}})), ContainsSubstring("is needed if no header"));
}

// As scikit-learn's iris.csv begins.

TEST_CASE_METHOD(CsvFiles, "a first line that is not part of the table is reported, and can be skipped",
                 "[csv]") {
  const std::string iris = "4,2,setosa\n5.1,3.5,0\n4.9,3.0,1\n6.1,3.1,0\n6.2,3.2,1\n";
  write(iris, iris);
  CHECK_THROWS_WITH(open("csv", with({{"target", "species"}})),
                    ContainsSubstring("dataset.skip_lines = 1") && ContainsSubstring("dataset.columns"));
  const Settings skipping = with(
      {{"target", "species"}, {"skip_lines", 1}, {"columns", Setting::list({"length", "width", "species"})}});
  CHECK(open("csv", skipping).train->size() == 4);
  write("length,width,species\n1,2,0\n3,4,1\n", iris);
  CHECK_THROWS_WITH(open("csv", with({{"target", "specis"}})), !ContainsSubstring("skip_lines"));
}

TEST_CASE_METHOD(CsvFiles, "a share of the rows can be kept for evaluation, the same for the same seed",
                 "[csv]") {
  std::string rows = "x,y\n";
  for (int i = 0; i < 100; ++i) rows += std::to_string(i) + (i % 2 ? ",a\n" : ",b\n");
  write(rows, "");
  const auto inputs = [&](int seed) {
    const Splits splits =
        open("csv", split({{"target", "y"}, {"split", 0.25}, {"split_seed", seed}, {"standardize", false}}));
    CHECK(splits.train->size() == 74);  // 50 of each class: a quarter is 12.5, and rounds up
    REQUIRE(splits.eval->size() == 26);
    std::vector<std::int64_t> all(26);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int64_t>(i);
    return read(*splits.eval, all).input;
  };
  CHECK(torch::equal(inputs(1), inputs(1)));
  CHECK(!torch::equal(inputs(1), inputs(2)));
  CHECK(std::get<0>(torch::unique_consecutive(inputs(1).flatten())).size(0) == 26);
  // Standardised by the training part alone: not by all 100 rows, whose mean is 49.5.
  const Splits splits = open("csv", split({{"target", "y"}, {"split", 0.25}}));
  const auto learned = nlohmann::json::parse(splits.learned);
  const double of_training = (4950 - inputs(1).sum().item<double>()) / 74;
  CHECK_THAT(learned["numeric"][0]["mean"].get<double>(), WithinRel(of_training, 1e-12));
  CHECK(of_training != 49.5);
}

TEST_CASE_METHOD(CsvFiles, "the only row of a class is for training", "[csv]") {
  write("x,y\n1,a\n2,a\n3,b\n4,c\n5,c\n", "");
  const Splits splits = open("csv", split({{"target", "y"}, {"split", 0.5}}));
  CHECK(splits.train->size() == 3);
  CHECK(torch::equal(read(*splits.eval, {0, 1}).target, torch::tensor({0, 2}, torch::kInt64)));
  write("x,y\n1,a\n2,b\n3,c\n", "");
  CHECK_THROWS_WITH(open("csv", split({{"target", "y"}, {"split", 0.5}})),
                    ContainsSubstring("fewer than two rows in every class") && !ContainsSubstring("task"));
  write("x,y\n1,1.5\n2,2.5\n3,3.5\n", "");
  CHECK_THROWS_WITH(open("csv", split({{"target", "y"}, {"split", 0.5}})),
                    ContainsSubstring("set dataset.task = \"regression\""));
}

TEST_CASE_METHOD(CsvFiles, "a model that would not see the categories refuses them", "[csv]") {
  const auto mlp = part<ModelKind>("mlp");
  CHECK_THROWS_WITH(mlp.build({open("csv", settings).train->spec()}),
                    ContainsSubstring("dataset.categories"));
  CHECK_NOTHROW(mlp.build({open("csv", with({{"categories", "one_hot"}})).train->spec()}));
}

TEST_CASE_METHOD(CsvFiles,
                 "a column of numbers stays one, whatever share of it is missing and however that is written",
                 "[csv]") {
  const std::string mark =
      GENERATE("#N/A", "None", "<NA>", "n/a", "-", ".", "ND", "NaN", "", "?", "\u00a0", "--", "#VALUE!");
  INFO(mark);
  std::string rows = "x,note,buys\n";
  for (int i = 0; i < 20; ++i)
    rows += (i % 3 == 0 ? std::to_string(i) : mark) + ",None," + (i % 2 ? "yes\n" : "no\n");
  write(rows, rows);
  const Splits splits = open("csv", with({{"standardize", false}}));
  CHECK(splits.train->spec().input_shape == std::vector<std::int64_t>{1});
  CHECK(splits.train->spec().categories == std::vector<std::int64_t>{2});  // "None" may be a category
  CHECK(read(*splits.train, {3}).input.item<float>() == 3);
  CHECK(std::abs(read(*splits.train, {1}).input.item<float>() - 9) < 1e-5);  // the mean
  CHECK(splits.train->details().columns[0].gaps == 0.65);
}

TEST_CASE_METHOD(CsvFiles, "what is listed as missing is all that is", "[csv]") {
  std::string rows = "x,buys\n";
  for (int i = 0; i < 20; ++i) rows += (i % 10 ? std::to_string(i) : "-") + (i % 2 ? ",yes\n" : ",no\n");
  refuses(rows, "column \"x\" contains 18 numbers and 2 other values: \"-\" in line 2",
          {{"missing", Setting::list({"NA"})}});
}

TEST_CASE_METHOD(CsvFiles, "numbers with a few texts that repeat are refused, codes are categories",
                 "[csv]") {
  std::string measured = "x,buys\n", codes = "x,buys\n";
  for (int i = 0; i < 40; ++i) {
    const std::string end = i % 2 ? ",yes\n" : ",no\n";
    measured += (i % 4 == 3 ? "broken" : std::to_string(i) + ".5") + end;
    codes += (i % 4 == 3 ? "none so far" : std::to_string(i % 3)) + end;
  }
  refuses(measured, "column \"x\" contains 30 numbers and 10 other values: \"broken\" in line 5 ..");
  write(codes, codes);
  CHECK(open("csv", settings).train->spec().categories == std::vector<std::int64_t>{5});
}

TEST_CASE_METHOD(CsvFiles, "thousands are named where a point in another column is decimal", "[csv]") {
  std::string rows = "price;share;buys\n";
  for (int i = 1; i < 20; ++i)
    rows += std::to_string(i) + ",900;0.8" + std::to_string(i) + (i % 2 ? ";yes\n" : ";no\n");
  refuses(rows, "set how they are written (dataset.thousands = \",\")");
  write(rows, rows);
  CHECK(read(*open("csv", with({{"thousands", ","}, {"standardize", false}})).train, {0})
            .input[0][0]
            .item<float>() == 1900);
  std::string targets = "x,buys\n1,\"2,900\"\n2,372\n3,\"3,100\"\n";
  refuses(targets, "dataset.thousands = \",\"", {{"task", "regression"}});
}

TEST_CASE_METHOD(CsvFiles, "units are named, and different ones refused", "[csv]") {
  refuses("x,buys\n5.251 g,yes\n3.1 g,no\n7.25 g,yes\n8 g,no\n", "(dataset.units = [\"g\"])");
  refuses("x,buys\n5.251 g,yes\n3.1 kg,no\n7.25 g,yes\n8 g,no\n", "has numbers in different units (g, kg)");
}

TEST_CASE_METHOD(CsvFiles, "JSON lines are rows, whatever the order of their keys", "[csv]") {
  const std::string json =
      "{\"age\": 20, \"city\": \"Rome\", \"weight\": 50.0, \"buys\": \"no\"}\n"
      "{\"city\": \"Oslo\", \"age\": 40, \"weight\": 70, \"buys\": \"yes\"}\n"
      "{\"age\": null, \"city\": \"Rome\", \"buys\": \"yes\"}\n"
      "{\"age\": 60, \"city\": \"?\", \"weight\": 60, \"buys\": \"no\"}\n";
  const Splits plain = open("csv", settings);
  const std::string eval = "{\"age\": 30, \"city\": \"Paris\", \"weight\": 65, \"buys\": \"yes\"}";
  write(json, eval);
  if (GENERATE(false, true)) {
    shell("gzip '" + (folder / "train.csv").string() + "' && mv '" + (folder / "train.csv.gz").string() +
          "' '" + (folder / "train.csv").string() + "'");
  }
  const Splits splits =
      open("csv", with({{"missing", Setting::list({"?"})}}));  // null is missing in any case
  CHECK(splits.learned == plain.learned);
  const Batch one = read(*splits.train, {0, 1, 2, 3}), other = read(*plain.train, {0, 1, 2, 3});
  CHECK(torch::equal(one.input, other.input));
  CHECK(torch::equal(one.target, other.target));
  CHECK(torch::equal(one.extra.at("categories"), other.extra.at("categories")));
  CHECK_THROWS_WITH(open("csv", with({{"separator", ","}})),
                    ContainsSubstring("dataset.separator has no effect. Remove it"));
}

TEST_CASE_METHOD(CsvFiles, "rows of an object one level deeper are pointed at", "[csv]") {
  refuses("{\"version\": 1, \"data\": [{\"age\": 20, \"buys\": \"no\"}]}", "jq -c '.[\"data\"][]'");
}
