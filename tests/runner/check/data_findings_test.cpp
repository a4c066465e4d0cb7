#include "runner/check/data_findings.hpp"

#include <catch2/catch_all.hpp>
#include <nlohmann/json.hpp>

#include "tests/support/decoded_recipe.hpp"
#include "tests/support/files.hpp"

using namespace runner;

namespace {

constexpr const char* table = R"(
[model]
name = "tabular"
[dataset]
name = "csv"
train = "train.csv"
eval = "eval.csv"
target = "buys"
[optimizer]
name = "sgd"
[train]
epochs = 1
)";

// Rows of a number, a town and a class.
std::string rows(int count, const std::string& town, const std::string& other = "Oslo") {
  std::string text = "x,town,buys\n";
  for (int i = 0; i < count; ++i)
    text += std::to_string(i) + "," + (i % 10 == 0 ? other : town) + (i % 2 ? ",yes\n" : ",no\n");
  return text;
}

DataFindings found_in(const std::string& train, const std::string& eval, std::int64_t most = 100'000) {
  const testing::Recipes files(table);
  testing::write_file(files.folder / "train.csv", train);
  testing::write_file(files.folder / "eval.csv", eval);
  return examine_data(testing::decoded_recipe(files), most);
}

bool says(const std::vector<std::string>& texts, const std::string& what) {
  return std::ranges::any_of(texts, [&](const auto& text) { return text.find(what) != std::string::npos; });
}

}  // namespace

TEST_CASE("data: categories that the training set does not have are a problem if there are many") {
  const DataFindings many = found_in(rows(20, "Rome"), rows(20, "Athens", "Paris"));
  CHECK(
      says(many.problems, "Column \"town\" has a value in 100 % of the validation rows that is not in the "));
  CHECK(to_json(many)["sets"][1]["unknown_categories"]["town"] == 1.0);
  CHECK_FALSE(to_json(many)["sets"][0].contains("unknown_categories"));
  const DataFindings few = found_in(rows(20, "Rome"), rows(20, "Rome", "Paris"));
  CHECK_FALSE(says(few.problems, "not in the training set"));
  CHECK(says(few.notes, "Column \"town\" has a value in 10 % of the validation rows"));
}

TEST_CASE("data: different values are counted only as far as the count is exact") {
  const auto column = [](int count, std::int64_t most) {
    return to_json(found_in(rows(count, "Rome"), rows(20, "Rome"), most))["columns"][0];
  };
  CHECK(column(900, 100'000)["distinct"] == 900);
  CHECK(column(1200, 100'000)["distinct_at_least"] == 1000);
  CHECK_FALSE(column(1200, 100'000).contains("distinct"));
  CHECK(column(900, 300)["distinct_at_least"] == 300);  // of some of the examples
}

TEST_CASE("data: columns are in the units of the file, without the values that replace missing ones") {
  const std::string text = "x,town,buys\n100,Rome,no\n200,Oslo,yes\n-,Rome,no\n300,Rome,yes\nND,,no\n";
  const auto columns = to_json(found_in(text, text))["columns"];
  CHECK(columns[0]["name"] == "x");
  CHECK(std::abs(columns[0]["mean"].get<double>() - 200) < 1e-3);
  CHECK(std::abs(columns[0]["std"].get<double>() - 81.6497) < 1e-3);  // pandas: std(ddof=0)
  CHECK(std::abs(columns[0]["min"].get<double>() - 100) < 1e-3);
  CHECK(std::abs(columns[0]["max"].get<double>() - 300) < 1e-3);
  CHECK(columns[0]["missing"] == 0.4);
  CHECK(columns[1]["name"] == "town");
  CHECK(columns[1]["distinct"] == 2);
  CHECK(columns[1]["values"] == nlohmann::json::parse(R"([["Rome", 3], ["Oslo", 1]])"));
  CHECK(columns[1]["missing"] == 0.2);
}

TEST_CASE("data: columns that are the target, count the rows or never change are problems") {
  std::string text = "copy,name,same,x,buys\n";
  for (int i = 0; i < 40; ++i)
    text += std::string(i % 2 ? "J" : "N") + ",n" + std::to_string(i) + ",one," + std::to_string(i * 7 % 5) +
            (i % 2 ? ",yes\n" : ",no\n");
  const DataFindings found = found_in(text, text);
  CHECK(says(found.problems, "Column \"copy\" is the target \"buys\" in other words"));
  CHECK(says(found.problems, "Column \"name\" has a different value in every row"));
  CHECK(says(found.problems, "Column \"same\" has the same value in every training row"));
  CHECK_FALSE(says(found.problems, "Column \"x\""));
}

TEST_CASE("data: padding is not among the tokens") {
  const testing::Recipes files(R"(
[model]
name = "gpt"
layers = 1
heads = 1
width = 8
[dataset]
name = "text"
file = "t.txt"
eval_file = "e.txt"
tokenizer = { name = "bpe", vocab_size = 257 }
length = 8
[loss]
name = "lm_cross_entropy"
[optimizer]
name = "sgd"
[train]
max_steps = 1
)");
  testing::write_file(files.folder / "t.txt", "aaaaaaaaaaaaaaaaaaaaaaaa");
  testing::write_file(files.folder / "e.txt", "aaaaaaaaaaaaaaaaaaaaaaaaa");
  const DataFindings found = examine_data(testing::decoded_recipe(files), 100);
  // 12 pairs and one "a" are 13 tokens; the last one is only a target. Two windows of 8 would hold 16.
  CHECK(found.sets[1].tokens == 12);
}
