#include <nlohmann/json.hpp>

#include "tests/components/datasets/csv_files.hpp"

using namespace runner;
using namespace runner::testing;
using Catch::Matchers::ContainsSubstring;

TEST_CASE_METHOD(CsvFiles, "rows are read again with what was learnt, without the data", "[csv]") {
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

TEST_CASE_METHOD(CsvFiles, "a row that is longer than any file name is still a row", "[csv]") {
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

TEST_CASE_METHOD(CsvFiles, "a file without header needs no target to be read again", "[csv]") {
  write("1,a,no\n2,b,yes\n", "1,a,no\n");
  const Settings named = with({{"columns", Setting::list({"x", "letter", "buys"})}});
  const auto reader = dataset("csv", named)->interpreter({}, open("csv", named).learned);
  write_file(folder / "new.csv", "1,a\n2,b\n");
  CHECK(reader->read(std::vector<std::string>{(folder / "new.csv").string()}).size() == 2);
  CHECK(reader->read(std::vector<std::string>{(folder / "train.csv").string()}).size() == 2);
}

TEST_CASE_METHOD(CsvFiles, "a run is evaluated with what it learnt, whatever the training set is now",
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

TEST_CASE_METHOD(CsvFiles,
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
