#include "components/datasets/columns/learn_columns.hpp"

#include <catch2/catch_all.hpp>

#include "tests/support/files.hpp"
#include "tests/support/temporary_folder.hpp"

namespace runner {
namespace {

using Catch::Matchers::ContainsSubstring;

TEST_CASE("more different values than can be saved are refused before training, with the column's name") {
  const testing::TemporaryFolder folder;
  std::string rows = "town,user,buys\n";
  for (int i = 0; i < 100; ++i)
    rows += std::string(i % 3 == 0 ? "Rome" : "Oslo") + ",u" + std::to_string(i) +
            (i % 2 == 0 ? ",no\n" : ",yes\n");
  const TablePart training(testing::write_file(folder / "train.csv", rows), {});
  const ColumnChoice choice{.target = "buys", .categorical = {"town", "user"}};
  CHECK(learn_columns(training, choice).categorical.at(1).values.size() == 100);
  CHECK_THROWS_WITH(learn_columns(training, choice, 1000),
                    ContainsSubstring("train.csv") &&
                        ContainsSubstring("column \"user\" has 100 different values") &&
                        ContainsSubstring("dataset.ignore"));
}

}  // namespace
}  // namespace runner
