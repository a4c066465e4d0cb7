#include "components/trackers/chunk_log.hpp"

#include <catch2/catch_all.hpp>

#include "tests/support/temporary_folder.hpp"

namespace runner {
namespace {

constexpr std::string_view header{":TST\x01\x02\x03", 7};

std::vector<std::string> records_in(const std::filesystem::path& path) {
  std::vector<std::string> records;
  read_chunk_log(path, header, [&](std::string_view record) { records.emplace_back(record); });
  return records;
}

// Sizes that end just before, at and after the border of a block, and one over several.
std::vector<std::string> examples() {
  std::vector<std::string> records;
  for (const std::size_t size : {0, 1, 32740, 5, 32754, 32755, 32747, 100000, 20, 32760}) {
    records.emplace_back(size, static_cast<char>('a' + records.size()));
  }
  return records;
}

TEST_CASE("a chunk log gives back what was added, over the borders of its blocks") {
  testing::TemporaryFolder folder;
  ChunkLog log(folder / "x.log", header);
  for (const std::string& record : examples()) log.add(record);
  CHECK(records_in(log.path()).empty());
  log.flush();
  CHECK(records_in(log.path()) == examples());
  CHECK(log.records() == static_cast<std::int64_t>(examples().size()));
}

TEST_CASE("a chunk log goes on after the last whole record, wherever the process was killed") {
  testing::TemporaryFolder folder;
  {
    ChunkLog log(folder / "whole.log", header);
    for (const std::string& record : examples()) log.add(record);
    log.flush();
  }
  const std::string whole = testing::read_text(folder / "whole.log");
  for (const std::size_t cut : {1, 7, 8, 30000, 32761, 60000}) {
    std::ofstream(folder / "torn.log", std::ios::binary) << whole.substr(0, whole.size() - cut);
    auto expected = records_in(folder / "torn.log");
    CHECK(expected.size() < examples().size());
    ChunkLog log(folder / "torn.log", header);
    CHECK(log.records() == static_cast<std::int64_t>(expected.size()));
    log.add("after");
    log.flush();
    expected.emplace_back("after");
    CHECK(records_in(folder / "torn.log") == expected);
  }
}

TEST_CASE("a chunk log drops records, and leaves a foreign file alone") {
  testing::TemporaryFolder folder;
  {
    ChunkLog log(folder / "x.log", header);
    for (const char* record : {"keep 1", "drop", "keep 2"}) log.add(record);
    log.flush();
  }
  keep_records(folder / "x.log", header,
               [](std::string_view record, std::int64_t) { return record.starts_with("keep"); });
  CHECK(records_in(folder / "x.log") == std::vector<std::string>{"keep 1", "keep 2"});
  std::ofstream(folder / "y.log") << "something else";
  CHECK_THROWS_WITH(ChunkLog(folder / "y.log", header),
                    Catch::Matchers::ContainsSubstring("was not written by"));
}

}  // namespace
}  // namespace runner
