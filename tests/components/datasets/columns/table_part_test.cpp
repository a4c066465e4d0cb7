#include "components/datasets/columns/table_part.hpp"

#include <catch2/catch_all.hpp>

#include "tests/support/files.hpp"
#include "tests/support/temporary_folder.hpp"

namespace runner {
namespace {

using Catch::Matchers::ContainsSubstring;

// All of these have the same size: the file stays mapped while its contents change.
TEST_CASE("a table that another program changes while it is read is refused") {
  const std::string changed = GENERATE("a,b\n1,2\n3,4\n5,6\n7,8\n", "a,b\n111,222\n\n\n\n\n\n\n\n\n",
                                       "a,c\n111,222\n333,444\n", "a\n1111\n222\n333\n444\n\n");
  const testing::TemporaryFolder folder;
  const auto file = testing::write_file(folder / "table.csv", "a,b\n111,222\n333,444\n");
  const TablePart whole(file, {});
  const auto [first, second] = whole.split(0.5, 1);
  const auto ignore = [](const RowReader&) {};
  CHECK_NOTHROW(first.each(ignore));

  REQUIRE(std::filesystem::file_size(file) == changed.size());
  testing::write_file(file, changed);
  for (const TablePart& part : {whole, first, second})
    CHECK_THROWS_WITH(part.each(ignore), ContainsSubstring("table.csv was changed while it was being read"));
}

}  // namespace
}  // namespace runner
