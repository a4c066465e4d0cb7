#include "registry/files/lines.hpp"

#include <sys/stat.h>

#include <catch2/catch_all.hpp>

#include "tests/support/files.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace runner;
using namespace runner::testing;

namespace {

using Lines = std::vector<std::string>;

Lines all(const std::filesystem::path& path, std::uint64_t begin = 0) {
  Lines lines;
  BackwardLines reader(path, begin);
  while (const auto line = reader.next()) {
    lines.emplace_back(line->text);
    CHECK(read_text(path).substr(line->offset, line->text.size()) == line->text);
  }
  return lines;
}

}  // namespace

TEST_CASE("lines of a file come from the last one to the first, with their places") {
  const TemporaryFolder folder;
  const auto lines_of = [&](const std::string& text) {
    write_file(folder / "text", text);
    return all(folder / "text");
  };
  CHECK(lines_of("").empty());
  CHECK(lines_of("one") == Lines{"one"});
  CHECK(lines_of("one\n") == Lines{"one"});
  CHECK(lines_of("\n") == Lines{""});
  CHECK(lines_of("one\n\nthree\nfour") == Lines{"four", "three", "", "one"});
  CHECK(all(folder / "missing").empty());
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK(all(folder / "pipe").empty());  // without waiting for a writer
  write_file(folder / "text", "header\n1\n2\n");
  CHECK(all(folder / "text", 7) == Lines{"2", "1"});
  CHECK(all(folder / "text", 100).empty());
}

TEST_CASE("lines of a file may be longer than what is read at once") {
  const TemporaryFolder folder;
  std::string text;
  Lines expected;
  for (int i = 0; i < 40; ++i) {
    expected.insert(expected.begin(),
                    std::string(static_cast<std::size_t>(i * 7919 % 150'000), 'a' + i % 26));
    text += expected.front() + "\n";
  }
  write_file(folder / "text", text);
  CHECK(all(folder / "text") == expected);
}
