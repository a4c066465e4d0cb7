#include <catch2/catch_all.hpp>
#include <nlohmann/json.hpp>

#include "components/models/model.hpp"
#include "registry/log.hpp"
#include "tests/support/datasets.hpp"
#include "tests/support/files.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace runner;
using namespace runner::testing;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;

namespace {

const std::string people =
    "age,city,weight,buys\n"
    "20,Rome,50,no\n"
    "40,Oslo,70,yes\n"
    ",Rome,NA,yes\n"
    "60,?,60,no\n";

struct Fixture {
  TemporaryFolder folder;
  Settings settings = {{"train", (folder / "train.csv").string()},
                       {"eval", (folder / "eval.csv").string()},
                       {"target", "buys"}};

  Fixture() { write(people, "age,city,weight,buys\n30,Paris,65,yes\n"); }
  void write(const std::string& train, const std::string& eval) {
    write_file(folder / "train.csv", train);
    write_file(folder / "eval.csv", eval);
  }
  Settings with(Settings more) const {
    Settings all = settings;
    for (auto& [key, value] : more) {
      std::erase_if(all, [&, name = key](const auto& setting) { return setting.first == name; });
      all.emplace_back(key, value);
    }
    return all;
  }
  Settings split(Settings more = {}) const {
    Settings all = with(more);
    std::erase_if(all, [](const auto& setting) { return setting.first == "eval"; });
    return all;
  }
  void refuses(const std::string& train, const std::string& why, Settings more = {}) {
    write(train, people);
    CHECK_THROWS_WITH(open("csv", with(std::move(more))), ContainsSubstring(why));
  }
};

torch::Tensor numbers(std::vector<std::vector<float>> rows) {
  std::vector<torch::Tensor> tensors;
  for (const auto& row : rows) tensors.push_back(torch::tensor(row));
  return torch::stack(tensors);
}

}  // namespace

TEST_CASE_METHOD(Fixture, "numbers are standardised and categories numbered by the training part alone",
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

TEST_CASE_METHOD(Fixture, "one-hot categories are part of the input; none where they are missing", "[csv]") {
  const Splits splits = open("csv", with({{"categories", "one_hot"}, {"standardize", false}}));
  CHECK(splits.train->spec().input_shape == std::vector<std::int64_t>{4});
  CHECK(splits.train->spec().categories.empty());
  const Batch batch = read(*splits.train, {3, 0, 1});
  CHECK(torch::equal(batch.input, numbers({{60, 60, 0, 0}, {20, 50, 0, 1}, {40, 70, 1, 0}})));
  CHECK(batch.extra.empty());
}

TEST_CASE_METHOD(Fixture, "gaps can be told by inputs of their own", "[csv]") {
  const Splits splits = open("csv", with({{"missing_indicator", true}, {"standardize", false}}));
  const Batch batch = read(*splits.train, {1, 2});
  CHECK(torch::equal(batch.input, numbers({{40, 70, 0, 0}, {40, 60, 1, 1}})));
}

TEST_CASE_METHOD(Fixture, "a number can be the target", "[csv]") {
  const Splits splits = open("csv", with({{"target", "weight"},
                                          {"task", "regression"},
                                          {"standardize_target", false},
                                          {"train", (folder / "eval.csv").string()}}));
  CHECK(splits.train->spec().classes == 0);
  CHECK(splits.train->spec().target_type == torch::kFloat32);
  CHECK(read(*splits.train, {0}).target.item<float>() == 65);
}

TEST_CASE_METHOD(Fixture, "a number as target is standardised by the training part, and the spec says how",
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

TEST_CASE_METHOD(Fixture, "numbers in another notation are told, and read where the recipe says how",
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

TEST_CASE_METHOD(Fixture, "what separates the values is recognised", "[csv]") {
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

TEST_CASE_METHOD(Fixture, "what is said about columns is followed", "[csv]") {
  const Splits splits =
      open("csv", with({{"categorical", Setting::list({"age"})}, {"ignore", Setting::list({"city"})}}));
  CHECK(splits.train->spec().input_shape == std::vector<std::int64_t>{1});
  CHECK(splits.train->spec().categories == std::vector<std::int64_t>{4});
  CHECK_THROWS_WITH(open("csv", with({{"ignore", Setting::list({"citi"})}})),
                    ContainsSubstring("no column \"citi\"; did you mean \"city\"? It has: age, city"));
  CHECK_THROWS_WITH(open("csv", with({{"target", "bys"}})),
                    ContainsSubstring("no column \"bys\"; did you mean \"buys\"?"));
}

TEST_CASE_METHOD(Fixture, "classes that are numbers are in the order of numbers", "[csv]") {
  write("x,y\n1,10\n2,9\n3,-1\n", "y,x\n9,5\n");
  const Splits splits = open("csv", with({{"target", "y"}}));
  CHECK(splits.train->spec().class_names == std::vector<std::string>{"-1", "9", "10"});
  CHECK(label(*splits.eval, 0) == 1);  // the columns may be in another order there
}

TEST_CASE_METHOD(Fixture, "columns can be named by the recipe, for or instead of a header", "[csv]") {
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
TEST_CASE_METHOD(Fixture, "a first line that is not part of the table is told, and can be skipped", "[csv]") {
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

TEST_CASE_METHOD(Fixture, "a share of the rows can be kept for evaluation, the same for the same seed",
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

TEST_CASE_METHOD(Fixture, "what is wrong in a table is told with its place and a remedy", "[csv]") {
  const auto many = [](const std::string& odd) {
    std::string rows = "age,city,weight,buys\n";
    for (int i = 0; i < 20; ++i) rows += "2" + std::to_string(i) + ",Rome,50," + (i % 2 ? "yes\n" : "no\n");
    return rows + odd;
  };
  const std::string file = (folder / "train.csv").string();
  refuses(many("old,Rome,50,no\n"),
          file + ":22: column \"age\" contains 20 numbers and 1 other value: \"old\" in line 22");
  refuses(many("old,Rome,50,no\n"),
          file + ":22: column \"age\": \"old\" is not a number. Correct it, or add it",
          {{"numeric", Setting::list({"age"})}});
  refuses(many("inf,Rome,50,no\n"), file + ":22: column \"age\": \"inf\" is not a finite number");
  for (const std::string number : {"1e39", "1e300", "-1e400"})
    refuses(many(number + ",Rome,50,no\n"), "\"" + number + "\" is too large: numbers up to 3.4e38 can");
  refuses(many("NaN,Rome,50,no\n"), "\"NaN\" is not a finite number", {{"missing", Setting::list({""})}});
  refuses(many("30,Rome,50,\n"), file + ":22: column \"buys\": the target is missing");
  refuses(many("30,Rome,50,NA\n"), "column \"buys\": \"NA\" counts as missing");
  refuses(many("30,Rome\n"), file + ":22: the row has 2 values, where 4 are expected");
  refuses(many("30,\"Rome,50,no\n"),
          file + ":22: column \"city\": the quote that opens here is never closed");
  refuses(many("30,K\xf6ln,50,no\n"), file + ":22: column \"city\": \"K\\xf6ln\" is not UTF-8");
  refuses("", file + " is empty.");
  refuses("age,buys\n", file + " has no rows.");
  refuses("\n\n", file + " has no rows, not even a header.");
  refuses("age,age,buys\n1,2,no\n", "two columns are called \"age\"");
  refuses("age,age,buys\n1,2,no\n", "name them all, with dataset.columns and dataset.header = true.");
  refuses("age;buys\n1;no\n", "Set dataset.separator = \";\".", {{"separator", ","}});
  refuses("age\tbuys\n1\tno\n", "Set dataset.separator = \"tab\".", {{"separator", ","}});
  refuses("age,buys\n1,no\n2,no\n", "the target \"buys\" is the same in all training rows");
  refuses("age,buys\n1,\n2,\n", "the target column \"buys\" has no value in the training set");
  refuses("buys\nno\nyes\n", "has no column to learn from except the target");
  refuses("age,x,buys\n1,,no\n2,,yes\n", "column \"x\" has no value in the training set",
          {{"numeric", Setting::list({"x"})}});
  refuses(people, "no column \"size\"", {{"numeric", Setting::list({"size"})}});
  std::filesystem::remove(folder / "train.csv");
  CHECK_THROWS_WITH(open("csv", settings),
                    ContainsSubstring("There is no file " + file + ". Set dataset.train to the table."));
}

TEST_CASE_METHOD(Fixture, "the validation set has to fit the training set", "[csv]") {
  write(people, "age,city,weight,buys\n20,Rome,50,no\n20,Rome,50,maybe\n");
  CHECK_THROWS_WITH(open("csv", settings),
                    ContainsSubstring("eval.csv:3: column \"buys\": \"maybe\" is a class that the "
                                      "training set does not have (no, yes)."));
  write(people, "age,city,weight,buys\n20,Rome,50,no.\n");
  CHECK_THROWS_WITH(open("csv", settings),
                    ContainsSubstring("Set dataset.trim_target = \".\" if that is not part of it"));
  CHECK(label(*open("csv", with({{"trim_target", "."}})).eval, 0) == 0);
  write(people, "age,weight,buys\n20,50,no\n");
  CHECK_THROWS_WITH(open("csv", settings), ContainsSubstring("eval.csv has no column \"city\""));
  write(people, "age,city,weight,buys\nx,Rome,50,no\n");
  CHECK_THROWS_WITH(open("csv", settings), ContainsSubstring("eval.csv:2: column \"age\""));
}

TEST_CASE_METHOD(Fixture, "settings that contradict each other are refused before anything is read",
                 "[csv]") {
  CHECK_THROWS_WITH(dataset("csv", with({{"split", 0.5}})),
                    ContainsSubstring("means nothing together with eval"));
  CHECK_THROWS_WITH(dataset("csv", split()), ContainsSubstring("there is nothing to evaluate on"));
  CHECK_THROWS_WITH(dataset("csv", with({{"numeric", Setting::list({"buys"})}})),
                    ContainsSubstring("is the target"));
  CHECK_THROWS_WITH(dataset("csv", with({{"separator", "x"}})), ContainsSubstring("separator"));
  CHECK_THROWS_WITH(dataset("csv", with({{"task", "regression"}, {"trim_target", "."}})),
                    ContainsSubstring("is for classes"));
  CHECK_THROWS_WITH(dataset("csv", with({{"columns", Setting::list({"age", "buys", "age"})}})),
                    ContainsSubstring("has \"age\" twice"));
}

TEST_CASE_METHOD(Fixture, "classes that may be the same one written in two ways are reported", "[csv]") {
  const auto warnings = [&](const std::string& one, const std::string& other) {
    const std::string rows = "x,buys\n2," + one + "\n1," + other + "\n";
    write(rows, rows);
    log::clear_warnings();
    open("csv", settings);
    return log::warnings().size();
  };
  CHECK(warnings("Yes", "yes") == 1);
  CHECK(warnings("1", "1.0") == 1);
  CHECK(warnings("yes", "no") == 0);
  CHECK(warnings("0.00000001", "0.00000002") == 0);
}

TEST_CASE_METHOD(Fixture, "numbers as classes of which hardly two are the same are a mistake", "[csv]") {
  std::string rows = "x,y\n";
  for (int i = 0; i < 60; ++i) rows += "1," + std::to_string(i) + ".5\n";
  refuses(rows, "say dataset.task = \"regression\"", {{"target", "y"}});
}

TEST_CASE_METHOD(Fixture, "rows are read again with what was learnt, without the data", "[csv]") {
  const Splits splits = open("csv", settings);
  const Batch known = read(*splits.train, {0, 1, 2, 3});
  std::filesystem::remove(folder / "train.csv");
  const auto reader = dataset("csv", settings)->interpreter({}, splits.learned);
  write_file(folder / "new.csv", "weight,city,age\n50,Rome,20\n70,Oslo,40\n");
  const Batch batch =
      reader->read(std::vector<std::string>{(folder / "new.csv").string(), ",Rome,NA", "60,?,60,no"});
  CHECK(torch::equal(batch.input, known.input));
  CHECK(torch::equal(batch.extra.at("categories"), known.extra.at("categories")));
  CHECK(!batch.target.defined());
  const auto refused = [&](const std::string& input, const std::string& why) {
    CHECK_THROWS_WITH(reader->read(std::vector<std::string>{input}), ContainsSubstring(why));
  };
  refused("1,2", "\"1,2\" is neither a file nor a row: a row has 3 values separated by \",\"");
  refused("", "neither a file nor a row");
  refused("x,Rome,60", "column \"age\": \"x\" is not a number");
  refused("50,Rome,20\n70,Oslo,40", "holds more than one row");
  CHECK(reader->read(std::vector<std::string>{"50,Rome,20\n"}).size() == 1);
  CHECK_THROWS_WITH(dataset("csv", settings)->interpreter({}, "{}"), ContainsSubstring("dataset.json"));
  const auto damaged = [&](const char* list, const std::string& name) {
    auto columns = nlohmann::json::parse(splits.learned);
    columns[list][0]["name"] = name;
    CHECK_THROWS_WITH(dataset("csv", settings)->interpreter({}, columns.dump()),
                      ContainsSubstring("dataset.json") && ContainsSubstring("no column \"" + name + "\""));
  };
  damaged("numeric", "height");
  damaged("numeric", "buys");
  damaged("categorical", "country");
}

TEST_CASE_METHOD(Fixture, "a table that cannot be opened is not called missing", "[csv]") {
  const auto refused = [&](const std::string& name, const std::string& why) {
    CHECK_THROWS_AS(open("csv", with({{"train", (folder / name).string()}})), DataError);
    CHECK_THROWS_WITH(open("csv", with({{"train", (folder / name).string()}})), ContainsSubstring(why));
  };
  refused("other.csv", "There is no file");
  refused(std::string(300, 'x'), "Cannot open " + folder.path().string());
}

TEST_CASE_METHOD(Fixture, "a row that is longer than any file name is still a row", "[csv]") {
  std::string names, values, others;
  for (int i = 0; i < 80; ++i) {
    names += "x" + std::to_string(i) + ",";
    values += std::to_string(i) + ".5000,";
    others += std::to_string(i) + ".2500,";
  }
  write(names + "buys\n" + values + "no\n" + others + "yes\n", names + "buys\n" + values + "no\n");
  const auto reader = dataset("csv", settings)->interpreter({}, open("csv", settings).learned);
  CHECK(reader->read(std::vector<std::string>{values + "no"}).input.size(1) == 80);
}

TEST_CASE_METHOD(Fixture, "a file without header needs no target to be read again", "[csv]") {
  write("1,a,no\n2,b,yes\n", "1,a,no\n");
  const Settings named = with({{"columns", Setting::list({"x", "letter", "buys"})}});
  const auto reader = dataset("csv", named)->interpreter({}, open("csv", named).learned);
  write_file(folder / "new.csv", "1,a\n2,b\n");
  CHECK(reader->read(std::vector<std::string>{(folder / "new.csv").string()}).size() == 2);
  CHECK(reader->read(std::vector<std::string>{(folder / "train.csv").string()}).size() == 2);
}

TEST_CASE_METHOD(Fixture, "the only row of a class is for training", "[csv]") {
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

TEST_CASE_METHOD(Fixture, "a model that would not see the categories refuses them", "[csv]") {
  const auto mlp = part<ModelKind>("mlp");
  CHECK_THROWS_WITH(mlp.build({open("csv", settings).train->spec()}),
                    ContainsSubstring("dataset.categories"));
  CHECK_NOTHROW(mlp.build({open("csv", with({{"categories", "one_hot"}})).train->spec()}));
}

TEST_CASE_METHOD(Fixture, "a run is evaluated with what it learnt, whatever the training set is now",
                 "[csv]") {
  const Splits run = open("csv", settings);
  const Batch before = read(*run.eval, {0});
  const auto unchanged = [&](const Splits& again) {
    CHECK(again.learned == run.learned);
    const Batch batch = read(*again.eval, {0});
    CHECK(torch::equal(batch.input, before.input));
    CHECK(torch::equal(batch.extra.at("categories"), before.extra.at("categories")));
    CHECK(torch::equal(batch.target, before.target));
  };
  // The same row, with a training set that has other means, categories and classes.
  write("age,city,weight,buys\n900,Paris,1,yes\n800,Athens,2,yes\n",
        "age,city,weight,buys\n30,Paris,65,yes\n");
  unchanged(open_for_run("csv", settings, run));
  CHECK_THROWS_WITH(open("csv", settings), ContainsSubstring("is the same in all training rows"));
  CHECK_THROWS_WITH(
      open_for_run("csv", with({{"target", "weight"}}), run),
      ContainsSubstring("trained to predict the class in the column \"buys\": dataset.target and"));
  CHECK_THROWS_WITH(open_for_run("csv", with({{"task", "regression"}}), run),
                    ContainsSubstring("dataset.task"));

  const Settings numbers = with({{"target", "weight"}, {"task", "regression"}});
  write("age,weight\n1,10\n3,30\n", "age,weight\n2,60\n");
  const Splits trained = open("csv", numbers);
  write("age,weight\n1,100\n3,3000\n", "age,weight\n2,60\n");
  const Splits again = open_for_run("csv", numbers, trained);
  CHECK(again.eval->spec().target_mean == 20);
  CHECK(read(*again.eval, {0}).target.item<float>() == 4);
}

TEST_CASE_METHOD(Fixture,
                 "the first row of a file without header is read, though the recipe renames a header",
                 "[csv]") {
  write("a,b,c\n1,a,2\n2,b,3\n3,a,2\n", "a,b,c\n1,a,2\n");
  const auto rows_in = [&](const std::string& text, const Settings& named) {
    const auto reader = dataset("csv", named)->interpreter({}, open("csv", named).learned);
    return reader->read(std::vector<std::string>{write_file(folder / "new.csv", text).string()}).size();
  };
  const Settings named = with({{"columns", Setting::list({"x", "letter", "buys"})}, {"header", true}});
  CHECK(rows_in("1,a,2\n1,a,2\n1,a,2\n", named) == 3);
  CHECK(rows_in("1,a\n1,a\n", named) == 2);
  CHECK(rows_in("a,b,c\n1,a,2\n", named) == 1);
  CHECK(rows_in("a,b\n1,a\n", named) == 1);
  // Categories alone tell it, too.
  const Settings letters = with({{"columns", Setting::list({"x", "letter", "buys"})},
                                 {"header", true},
                                 {"ignore", Setting::list({"x"})}});
  CHECK(rows_in("1,a,2\n1,b,2\n", letters) == 2);
  CHECK(rows_in("x,letter\n1,a\n", letters) == 1);
}

TEST_CASE_METHOD(Fixture, "characters are trimmed from classes only if these stay what they are", "[csv]") {
  const auto advice = [&](const std::string& classes, const std::string& other) {
    std::string rows;
    for (const char letter : classes) rows += letter == ' ' ? "\n1," : std::string(1, letter);
    write("x,buys\n1," + rows + "\n", "x,buys\n1," + other + "\n");
    try {
      open("csv", settings);
    } catch (const DataError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK_THAT(advice("1 2 10", "1.0"),
             ContainsSubstring("\"1\" in the training set: write it in the same way") &&
                 !ContainsSubstring("trim_target"));
  CHECK_THAT(advice("1.0 2.0", "2"), ContainsSubstring("The two files write the same number differently"));
  CHECK_THAT(advice("no yes", "no!"), ContainsSubstring("Set dataset.trim_target = \"!\""));
  CHECK_THAT(advice("no yes", "nope"), !ContainsSubstring("trim_target"));
  CHECK_THAT(advice("no yes!", "no!"), !ContainsSubstring("trim_target"));  // it would change "yes!"

  const Settings trimmed = {{"trim_target", ".0"}};
  refuses("x,buys\n1,1.0\n1,2.0\n1,10\n", "leaves \"1\" of the class \"10\"", trimmed);
  refuses("x,buys\n1,0\n1,1\n", "leaves nothing of the class \"0\"", trimmed);
  refuses("x,buys\n1,a\n1,a0\n", "makes one class of \"a\" and \"a0\"", trimmed);
  // Punctuation may differ within a file: that is what the setting is for.
  write("x,buys\n1,no\n1,no.\n1,yes\n", "x,buys\n1,yes.\n");
  CHECK(open("csv", with({{"trim_target", "."}})).train->spec().class_names ==
        std::vector<std::string>{"no", "yes"});
  // Nor may another number come of a class of the validation set.
  write("x,buys\n1,1\n1,2\n", "x,buys\n1,10\n");
  CHECK_THROWS_WITH(open("csv", with(trimmed)), ContainsSubstring("eval.csv:2: column \"buys\"") &&
                                                    ContainsSubstring("leaves \"1\" of the class \"10\""));
}

TEST_CASE_METHOD(Fixture, "a number that is too large once it is standardised is refused with its place",
                 "[csv]") {
  const std::string rows = "x,buys\n0.1,no\n0.2,yes\n";
  write(rows, "x,buys\n0.1,no\n-3.4028235e38,no\n");
  CHECK_THROWS_WITH(
      open("csv", settings),
      ContainsSubstring("eval.csv:3: column \"x\": \"-3.4028235e38\" is too far from the values") &&
          ContainsSubstring("dataset.missing"));
  CHECK_NOTHROW(open("csv", with({{"missing", Setting::list({"-3.4028235e38"})}})));
  write(rows, rows);
  const auto reader = dataset("csv", settings)->interpreter({}, open("csv", settings).learned);
  CHECK_THROWS_WITH(reader->read(std::vector<std::string>{"1e38"}), ContainsSubstring("is too far from"));
  write("x,y\n1,0.1\n2,0.2\n", "x,y\n1,1e38\n");
  CHECK_THROWS_WITH(open("csv", with({{"target", "y"}, {"task", "regression"}})),
                    ContainsSubstring("eval.csv:2: column \"y\": \"1e38\" is too far from the values"));
}

TEST_CASE_METHOD(Fixture, "categories that the training set does not have are counted", "[csv]") {
  write(people, "age,city,weight,buys\n30,Paris,65,yes\n30,?,65,yes\n30,Rome,65,yes\n30,Athens,65,yes\n");
  for (const std::string how : {"ids", "one_hot"}) {
    const Splits splits = open("csv", with({{"categories", how}}));
    CHECK(splits.train->details().unknown_categories.empty());
    CHECK(splits.eval->details().unknown_categories ==
          std::vector<std::pair<std::string, double>>{{"city", 0.5}});
  }
}
