#include "components/trackers/record_file.hpp"

#include <catch2/catch_all.hpp>

#include "tests/support/temporary_folder.hpp"

namespace runner {
namespace {

using testing::read_text;
using testing::TemporaryFolder;

TEST_CASE("crc32c gives the values of RFC 3720") {
  CHECK(crc32c("123456789") == 0xe3069283);
  CHECK(crc32c(std::string(32, '\0')) == 0x8a9136aa);
  CHECK(crc32c(std::string(32, '\xff')) == 0x62a8ab43);
  CHECK(crc32c("") == 0);
}

TEST_CASE("a record is framed as TensorFlow frames it, and written when it is flushed") {
  TemporaryFolder folder;
  RecordFile file(folder / "events");
  file.add("abc");
  CHECK(read_text(folder / "events").empty());
  file.flush();
  file.flush();
  // As written by tensorboard.summary.writer.record_writer.RecordWriter.
  CHECK(read_text(folder / "events") == std::string("\x03\0\0\0\0\0\0\0"
                                                    "\xb0\x99\x49\x0e"
                                                    "abc"
                                                    "\x6e\x57\xf1\x21",
                                                    19));
}

TEST_CASE("what was not flushed is written at the end, and much of it earlier") {
  TemporaryFolder folder;
  {
    RecordFile file(folder / "events");
    file.add(std::string(2 << 20, 'x'));
    CHECK(read_text(folder / "events").size() == (2 << 20) + 16);
    file.add("abc");
  }
  CHECK(read_text(folder / "events").size() == (2 << 20) + 16 + 19);
}

TEST_CASE("records are found in the middle of a file") {
  TemporaryFolder folder;
  {
    RecordFile file(folder / "events");
    file.add("first");
    file.add("second");
  }
  const std::string bytes = read_text(folder / "events");
  CHECK(find_record(bytes) == 0);
  for (std::size_t from = 1; from <= record_size("first"); ++from)
    CHECK(find_record(std::string_view(bytes).substr(from)) == record_size("first") - from);
  CHECK_FALSE(find_record(std::string_view(bytes).substr(record_size("first") + 1)));
  CHECK_FALSE(find_record(""));
}

}  // namespace
}  // namespace runner
