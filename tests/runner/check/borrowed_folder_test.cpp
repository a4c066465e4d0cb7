#include "runner/check/borrowed_folder.hpp"

#include <catch2/catch_all.hpp>
#include <optional>

#include "tests/support/files.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace runner;
using namespace runner::testing;
namespace fs = std::filesystem;

TEST_CASE("borrowed_folder: what was made is removed again") {
  const TemporaryFolder folder;
  {
    const BorrowedFolder borrowed(folder / "runs/deep/");
    write_file(borrowed.path() / "file", "x");
    CHECK(borrowed.path().parent_path() == folder / "runs/deep");
  }
  CHECK(fs::is_empty(folder.path()));
}

TEST_CASE("borrowed_folder: a run that has started meanwhile is kept") {
  const TemporaryFolder folder;
  {
    const BorrowedFolder borrowed(folder / "runs/deep");
    write_file(folder / "runs/shapes/metrics.jsonl", "precious");
  }
  CHECK(read_text(folder / "runs/shapes/metrics.jsonl") == "precious");
  CHECK_FALSE(fs::exists(folder / "runs/deep"));
}

TEST_CASE("borrowed_folder: two of them do not disturb each other") {
  const TemporaryFolder folder;
  std::optional<BorrowedFolder> first(folder / "runs");
  const BorrowedFolder second(folder / "runs");
  write_file(second.path() / "file", "x");
  CHECK(first->path() != second.path());
  first.reset();  // it made the folder that both are in
  CHECK(read_text(second.path() / "file") == "x");
}
