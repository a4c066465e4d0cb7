#include <catch2/catch_all.hpp>

#include "tests/runner/cli/program.hpp"
#include "tests/support/files.hpp"
#include "tests/support/temporary_folder.hpp"

namespace runner::testing {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::ContainsSubstring;

struct UserData {
  TemporaryFolder folder;

  void put_image(const std::string& place) {
    fs::create_directories((folder / place).parent_path());
    fs::copy_file(source_folder() / "tests/components/images/images/colour.png", folder / place);
  }
  Outcome start_from_images() const { return Program{}.run({"new", "--task", "images", folder.path()}); }
  Outcome start_from_table(const std::string& text, std::vector<std::string> overrides = {}) const {
    overrides.insert(overrides.begin(), {"new", "--task", "table", write_file(folder / "table.csv", text)});
    return Program{}.run(overrides);
  }
};

TEST_CASE_METHOD(UserData, "new: a training and a validation folder are not classes, whatever their case",
                 "[cli]") {
  const auto [train, eval] = GENERATE(table<std::string, std::string>(
      {{"train", "val"}, {"Train", "Test"}, {"training", "validation"}, {"TRAIN", "Valid"}}));
  for (const std::string& part : {train, eval}) {
    for (const char* image : {"/cat/1.png", "/dog/1.png"}) put_image(part + image);
  }
  const Outcome made = start_from_images();
  INFO(made.err);
  REQUIRE(made.code == 0);
  CHECK_THAT(made.out, ContainsSubstring("\ntrain = \"" + train + "\"\n") &&
                           ContainsSubstring("\neval = \"" + eval + "\"\n") &&
                           !ContainsSubstring("\nsplit = "));
}

TEST_CASE_METHOD(UserData, "new: a class may be called train", "[cli]") {
  for (const char* kind : {"bus", "car", "train"}) put_image(std::string(kind) + "/1.png");
  const Outcome made = start_from_images();
  INFO(made.err);
  REQUIRE(made.code == 0);
  CHECK_THAT(made.out, ContainsSubstring("\nsplit = 0.2\n"));
}

TEST_CASE_METHOD(UserData, "new: images that are split, but not in classes, are refused", "[cli]") {
  put_image("Train/1.png");
  put_image("Test/1.png");
  const Outcome made = start_from_images();
  CHECK(made.code == 2);
  CHECK_THAT(made.err, ContainsSubstring("are not in classes"));
}

TEST_CASE_METHOD(UserData, "new: a training folder alone is refused", "[cli]") {
  put_image("Train/cat/1.png");
  put_image("Train/dog/1.png");
  put_image("Test/1.png");  // without classes, it is nothing to evaluate with
  const Outcome made = start_from_images();
  CHECK(made.code == 2);
  CHECK_THAT(made.err, ContainsSubstring("has a folder Train, but none to evaluate with"));
}

TEST_CASE_METHOD(UserData, "new: a first line that is taken as data is noted", "[cli]") {
  const std::string rows = "2019,2020,2021\n3,4,1\n5,6,0\n7,8,1\n";
  const Outcome guessed = start_from_table(rows);
  REQUIRE(guessed.code == 0);
  CHECK_THAT(guessed.err, ContainsSubstring("runner: note: the first line of ") &&
                              ContainsSubstring("is taken as data; the columns are named column1"));
  CHECK_THAT(guessed.out, ContainsSubstring("\ntarget = \"column3\"\n"));
  const Outcome told = start_from_table(rows, {"dataset.header=true"});
  REQUIRE(told.code == 0);
  CHECK_THAT(told.err, !ContainsSubstring("first line"));
  CHECK_THAT(told.out, ContainsSubstring("\ntarget = \"2021\"\n") && ContainsSubstring("\ncolumns = []\n"));
}

TEST_CASE_METHOD(UserData, "new: names that are numbers are names", "[cli]") {
  const Outcome made = start_from_table("0,1,label\n5.1,3.5,cat\n4.9,3.0,dog\n4.7,3.2,cat\n4.6,3.1,dog\n");
  REQUIRE(made.code == 0);
  CHECK_THAT(made.err, ContainsSubstring("the column to predict is \"label\": its name says so"));
  CHECK_THAT(made.out, ContainsSubstring("\ntarget = \"label\"\n") && ContainsSubstring("\ncolumns = []\n"));
}

TEST_CASE_METHOD(UserData, "new: a separator at the end of the lines adds no target", "[cli]") {
  const Outcome made = start_from_table("x,c,kind,\n1,a,u,\n2,b,v,\n3,a,u,\n4,b,v,\n");
  REQUIRE(made.code == 0);
  CHECK_THAT(made.out, ContainsSubstring("\ntarget = \"kind\"\n"));
}

TEST_CASE_METHOD(UserData, "new: a column without a name is ignored only if it may count the rows", "[cli]") {
  const Outcome index = start_from_table(",x,kind\n0,1.5,u\n1,2,v\n2,3,u\n3,4,v\n");
  CHECK_THAT(index.out, ContainsSubstring("\nignore = [\"\"]\n"));
  const Outcome measured = start_from_table(",kind\n0.5,u\n1.5,v\n2,u\n3,v\n");
  CHECK_THAT(measured.out, ContainsSubstring("\nignore = []\n"));
}

TEST_CASE_METHOD(UserData,
                 "new: numbers in another notation are numbers, and the recipe says how they are written",
                 "[cli]") {
  const Outcome made =
      start_from_table("share,price\n10 %,\"1,000\"\n20 %,\"2,500.50\"\n30 %,\"3,000.25\"\n");
  REQUIRE(made.code == 0);
  CHECK_THAT(made.err,
             ContainsSubstring(
                 "numbers are read with dataset.thousands = \",\", dataset.units = [\"%\"]: \"10 %\" is 10"));
  CHECK_THAT(made.out,
             ContainsSubstring("\ntask = \"regression\"\n") && ContainsSubstring("\nthousands = \",\"\n") &&
                 ContainsSubstring("\nunits = [\"%\"]\n") && ContainsSubstring("\ndecimal = \".\"\n"));
  CHECK_THAT(start_from_table("x;price\n1;1.000,5 €\n2;2.000,5 €\n").out,
             ContainsSubstring("\nthousands = \".\"\n") && ContainsSubstring("\ndecimal = \",\"\n"));
}

TEST_CASE_METHOD(UserData, "new: a first line with numbers may not be part of the table", "[cli]") {
  const std::string rows = "1.5,2.5,0\n1.6,2.6,1\n1.7,2.7,0\n1.8,2.8,1\n";
  CHECK_THAT(start_from_table("4,setosa,virginica\n" + rows).err,
             ContainsSubstring("dataset.skip_lines=1 skips it"));
  for (const char* names : {"0,1,kind\n", "1,2,kind\n", "a,b,kind\n"})
    CHECK_THAT(start_from_table(names + rows).err, !ContainsSubstring("first line"));
}

TEST_CASE_METHOD(UserData, "new: data is no recipe to start from", "[cli]") {
  put_image("photos/cat/1.png");
  const auto about = [&](const std::filesystem::path& place) { return Program{}.run({"new", place}).err; };
  CHECK_THAT(about(folder / "photos"), ContainsSubstring("runner new --task images "));
  CHECK_THAT(about(write_file(folder / "table.csv", "a,b\n")), ContainsSubstring("runner new --task table "));
}

TEST_CASE_METHOD(UserData, "new: few numbers are classes only if they are whole", "[cli]") {
  const auto [number, task] = GENERATE(table<std::string, std::string>(
      {{"12.37", "regression"}, {"3.0", "classification"}, {"3", "classification"}}));
  const Outcome made = start_from_table("size,price\n10," + number + "\n20,4\n30," + number + "\n40,4\n");
  REQUIRE(made.code == 0);
  CHECK_THAT(made.out, ContainsSubstring("\ntask = \"" + task + "\"\n"));
}

TEST_CASE_METHOD(UserData, "new: lines before a table can be skipped", "[cli]") {
  const std::string text = "# made by hand\nx,kind\n1,u\n2,v\n3,u\n4,v\n";
  const Outcome guessed = start_from_table(text);
  CHECK(guessed.code == 0);
  CHECK_THAT(guessed.err, ContainsSubstring("is skipped as a title; dataset.skip_lines=0 reads it"));
  CHECK_THAT(guessed.out, ContainsSubstring("\nskip_lines = 1\n"));
  const Outcome refused = start_from_table("a single column\n1\n2\n");
  CHECK(refused.code == 2);
  CHECK_THAT(refused.err,
             ContainsSubstring("dataset.skip_lines=1") && ContainsSubstring("dataset.comment=#"));
  for (const char* remedy : {"dataset.skip_lines=1", "dataset.comment=#", "dataset.comment=\"#\""}) {
    INFO(remedy);
    const Outcome made = start_from_table(text, {remedy});
    REQUIRE(made.code == 0);
    CHECK_THAT(made.out, ContainsSubstring("\ntarget = \"kind\"\n"));
  }
}

TEST_CASE_METHOD(UserData, "new: the column to predict is the one that is named, and decides the task",
                 "[cli]") {
  const std::string rows = "kind,size\nu,1.5\nv,2.5\nu,3.5\nv,4.5\n";
  CHECK_THAT(start_from_table(rows).out, ContainsSubstring("\ntask = \"regression\"\n"));
  const Outcome named = start_from_table(rows, {"dataset.target=kind"});
  CHECK_THAT(named.out, ContainsSubstring("\ntask = \"classification\"\n"));
  CHECK_THAT(named.err, !ContainsSubstring("the column to predict"));
}

TEST_CASE_METHOD(UserData, "new: US thousands are no decimals, and what stays ambiguous is said", "[cli]") {
  const Outcome made = start_from_table("size,price\n1,\"$2,900\"\n2,$372\n3,\"$1,250\"\n");
  CHECK_THAT(made.out,
             ContainsSubstring("\nthousands = \",\"\n") && ContainsSubstring("\ndecimal = \".\"\n"));
  const Outcome ambiguous = start_from_table("size;price\n1;2,905\n2;3,125\n3;1,255\n");
  CHECK_THAT(ambiguous.err,
             ContainsSubstring("\"2,905\" is taken for 2.905; if it is 2905, set dataset.decimal = \".\", "
                               "dataset.thousands = \",\""));
}

TEST_CASE_METHOD(UserData, "new: missing values among numbers are said", "[cli]") {
  const Outcome made = start_from_table("x,kind\n1.5,u\n-,v\n2.5,u\nND,v\n");
  CHECK_THAT(made.err, ContainsSubstring("\"-\", \"ND\" mean a missing value in x") ||
                           ContainsSubstring("\"-\", \"ND\" mean a missing value in \"x\""));
}

TEST_CASE_METHOD(UserData, "new: small sets get more epochs and smaller batches", "[cli]") {
  std::string rows = "x,kind\n";
  for (int i = 0; i < 150; ++i) rows += std::to_string(i) + ".5," + (i % 2 ? "u\n" : "v\n");
  const Outcome made = start_from_table(rows);
  CHECK_THAT(made.out, ContainsSubstring("\nbatch_size = 16\n") && ContainsSubstring("\nepochs = 215.0\n"));
}

}  // namespace
}  // namespace runner::testing
