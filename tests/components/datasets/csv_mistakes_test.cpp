#include "registry/base/log.hpp"
#include "tests/components/datasets/csv_files.hpp"

using namespace runner;
using namespace runner::testing;
using Catch::Matchers::ContainsSubstring;

TEST_CASE_METHOD(CsvFiles, "mistakes in a table are reported with their place and a remedy", "[csv]") {
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
  const Settings regression{{"task", "regression"}};
  refuses("age,buys\n1,0.1\n2,0.1\n3,0.1\n", "the target \"buys\" is the same in all training rows",
          regression);
  refuses(
      "age,buys\n1,7\n2,no\n",
      file +
          ":3: column \"buys\": \"no\" is not a number. Correct it, or remove the row; to predict classes, "
          "set dataset.task = \"classification\"",
      regression);
  refuses("age,buys\n1,7\n2,1e39\n", "can be used. Correct it, or remove the row.", regression);
  refuses(std::string("a\0g\0e\0,\0b\0u\0y\0s\0\n\0"
                      "1\0,\0n\0o\0\n\0",
                      28),
          file + ":1: this is not UTF-8. It is UTF-16");
  refuses("age,buys\n1,\n2,\n", "the target column \"buys\" has no value in the training set");
  refuses("buys\nno\nyes\n", "has no column to learn from except the target");
  refuses("age,x,buys\n1,,no\n2,,yes\n", "column \"x\" has no value in the training set",
          {{"numeric", Setting::list({"x"})}});
  refuses(people, "no column \"size\"", {{"numeric", Setting::list({"size"})}});
  std::filesystem::remove(folder / "train.csv");
  CHECK_THROWS_WITH(open("csv", settings),
                    ContainsSubstring("There is no file " + file + ". Set dataset.train to the table."));
}

TEST_CASE_METHOD(CsvFiles, "the validation set has to fit the training set", "[csv]") {
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

TEST_CASE_METHOD(CsvFiles, "settings that contradict each other are refused before anything is read",
                 "[csv]") {
  CHECK_THROWS_WITH(dataset("csv", with({{"split", 0.5}})),
                    ContainsSubstring("cannot be combined with eval"));
  CHECK_THROWS_WITH(dataset("csv", split()), ContainsSubstring("there is nothing to evaluate on"));
  CHECK_THROWS_WITH(dataset("csv", with({{"numeric", Setting::list({"buys"})}})),
                    ContainsSubstring("is the target"));
  CHECK_THROWS_WITH(dataset("csv", with({{"separator", "x"}})), ContainsSubstring("separator"));
  CHECK_THROWS_WITH(dataset("csv", with({{"task", "regression"}, {"trim_target", "."}})),
                    ContainsSubstring("is for classes"));
  CHECK_THROWS_WITH(dataset("csv", with({{"columns", Setting::list({"age", "buys", "age"})}})),
                    ContainsSubstring("has \"age\" twice"));
}

TEST_CASE_METHOD(CsvFiles, "classes that may be the same one written in two ways are reported", "[csv]") {
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

TEST_CASE_METHOD(CsvFiles, "classes that are numbers and hardly ever repeat are refused", "[csv]") {
  std::string rows = "x,y\n";
  for (int i = 0; i < 60; ++i) rows += "1," + std::to_string(i) + ".5\n";
  refuses(rows, "set dataset.task = \"regression\"", {{"target", "y"}});
}

TEST_CASE_METHOD(CsvFiles, "a table that cannot be opened is not called missing", "[csv]") {
  const auto refused = [&](const std::string& name, const std::string& why) {
    CHECK_THROWS_AS(open("csv", with({{"train", (folder / name).string()}})), DataError);
    CHECK_THROWS_WITH(open("csv", with({{"train", (folder / name).string()}})), ContainsSubstring(why));
  };
  refused("other.csv", "There is no file");
  refused(std::string(300, 'x'), "Cannot open " + folder.path().string());
}

TEST_CASE_METHOD(CsvFiles, "characters are trimmed from classes only if these stay what they are", "[csv]") {
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

TEST_CASE_METHOD(CsvFiles, "a number that is too large once it is standardised is refused with its place",
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

TEST_CASE_METHOD(CsvFiles, "categories that the training set does not have are counted", "[csv]") {
  write(people, "age,city,weight,buys\n30,Paris,65,yes\n30,?,65,yes\n30,Rome,65,yes\n30,Athens,65,yes\n");
  for (const std::string how : {"ids", "one_hot"}) {
    const Splits splits = open("csv", with({{"categories", how}}));
    CHECK(splits.train->details().unknown_categories.empty());
    CHECK(splits.eval->details().unknown_categories ==
          std::vector<std::pair<std::string, double>>{{"city", 0.5}});
  }
}
