// Gzip, tar and SHA-256, against what the system's own tools make and say.
#include <catch2/catch_all.hpp>

#include "registry/files/gzip.hpp"
#include "registry/files/io_error.hpp"
#include "registry/files/sha256.hpp"
#include "registry/files/tar.hpp"
#include "tests/support/files.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace runner;
using namespace runner::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

std::string lines(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += "line " + std::to_string(i * 7919) + "\n";
  return text;
}

std::string read_all(const std::filesystem::path& path) {
  GzipReader reader(path);
  std::string all(1 << 20, '\0');
  all.resize(reader.read({reinterpret_cast<std::uint8_t*>(all.data()), all.size()}));
  return all;
}

std::string quoted(const std::filesystem::path& path) { return "'" + path.string() + "'"; }

}  // namespace

TEST_CASE("gzip files are unpacked and others read as they are") {
  const TemporaryFolder folder;
  const std::string text = lines(5000);
  write_file(folder / "plain", text);
  shell("gzip -k " + quoted(folder / "plain"));
  CHECK(read_all(folder / "plain.gz") == text);
  CHECK(read_all(folder / "plain") == text);

  GzipReader reader(folder / "plain.gz");
  reader.skip(text.size() - 3);
  std::array<std::uint8_t, 10> rest{};
  CHECK(reader.read(rest) == 3);
  CHECK_THROWS_WITH(reader.skip(1), ContainsSubstring("ends too early"));
}

TEST_CASE("truncated and damaged gzip files are refused by name") {
  const TemporaryFolder folder;
  write_file(folder / "plain", lines(5000));
  shell("gzip -k " + quoted(folder / "plain"));
  std::string packed = read_text(folder / "plain.gz");
  write_file(folder / "short.gz", packed.substr(0, packed.size() / 2));
  CHECK_THROWS_WITH(read_all(folder / "short.gz"), ContainsSubstring("short.gz is truncated"));
  packed[packed.size() - 6] ^= 1;  // in the checksum
  write_file(folder / "damaged.gz", packed);
  CHECK_THROWS_WITH(read_all(folder / "damaged.gz"), ContainsSubstring("damaged.gz is damaged"));
  CHECK_THROWS_AS(GzipReader(folder / "none.gz"), IoError);
}

TEST_CASE("a small gzip file may be all zeros, but not without end") {
  const TemporaryFolder folder;
  constexpr std::size_t part = 64 << 20;
  shell("head -c " + std::to_string(part) + " /dev/zero | gzip -1 > " + quoted(folder / "part.gz"));
  const std::string packed = read_text(folder / "part.gz");
  std::string several;  // parts one after another are one file
  for (int i = 0; i < 9; ++i) several += packed;
  write_file(folder / "bomb.gz", several);
  GzipReader reader(folder / "bomb.gz");
  CHECK_NOTHROW(reader.skip(8 * part));
  CHECK_THROWS_WITH(reader.skip(1), ContainsSubstring("bomb.gz unpacks to more than 536870912 bytes"));
}

TEST_CASE("SHA-256 agrees with sha256sum") {
  const TemporaryFolder folder;
  write_file(folder / "a", lines(3000));
  shell("sha256sum " + quoted(folder / "a") + " > " + quoted(folder / "sum"));
  CHECK(sha256_of_file(folder / "a") == read_text(folder / "sum").substr(0, 64));
  // The digest of nothing (FIPS 180-2).
  CHECK(sha256_of_file(write_file(folder / "empty", "")) ==
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST_CASE("files are taken out of a tar archive by name, wherever they lie in it") {
  const TemporaryFolder folder;
  const std::string large = lines(40000);
  write_file(folder / "in" / "deep" / "large.bin", large);
  write_file(folder / "in" / "small.bin", "small");
  write_file(folder / "in" / "other.txt", "not asked for");
  std::filesystem::create_directories(folder / "out");
  const std::string options = GENERATE("--format=ustar -czf", "--format=gnu -cf", "--format=pax -czf");
  shell("tar " + options + " " + quoted(folder / "a.tar") + " -C " + quoted(folder.path()) + " in");
  extract_tar(folder / "a.tar", {{"small.bin", 5}, {"large.bin", large.size()}}, folder / "out");
  CHECK(read_text(folder / "out" / "large.bin") == large);
  CHECK(read_text(folder / "out" / "small.bin") == "small");
  CHECK_FALSE(std::filesystem::exists(folder / "out" / "other.txt"));
  CHECK_THROWS_WITH(extract_tar(folder / "a.tar", {{"small.bin", 5}, {"absent.bin", 1}}, folder / "out"),
                    ContainsSubstring("does not hold absent.bin"));
  // A member of another size than is known is not written at all.
  std::filesystem::create_directories(folder / "out2");
  CHECK_THROWS_WITH(extract_tar(folder / "a.tar", {{"large.bin", 5}}, folder / "out2"),
                    ContainsSubstring("instead of 5"));
  CHECK(std::filesystem::is_empty(folder / "out2"));
}

TEST_CASE("a path in a tar archive cannot lead out of the folder") {
  const TemporaryFolder folder;
  write_file(folder / "in" / "x.bin", "x");
  std::filesystem::create_directories(folder / "out");
  shell("tar -cPf " + quoted(folder / "a.tar") + " --transform='s,.*,../../escaped/x.bin,' " +
        quoted(folder / "in" / "x.bin"));
  extract_tar(folder / "a.tar", {{"x.bin", 1}}, folder / "out");
  CHECK(read_text(folder / "out" / "x.bin") == "x");
  CHECK_FALSE(std::filesystem::exists(folder.path().parent_path() / "escaped"));
}

TEST_CASE("links in a tar archive are not followed and not made") {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "in");
  std::filesystem::create_directories(folder / "out");
  std::filesystem::create_symlink("/etc/passwd", folder / "in" / "x.bin");
  shell("tar -cf " + quoted(folder / "a.tar") + " -C " + quoted(folder.path()) + " in");
  CHECK_THROWS_WITH(extract_tar(folder / "a.tar", {{"x.bin", 1}}, folder / "out"),
                    ContainsSubstring("does not hold"));
  CHECK(std::filesystem::is_empty(folder / "out"));
}

TEST_CASE("what is no tar archive, or half of one, is refused by name") {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "out");
  write_file(folder / "no.tar", lines(200));
  CHECK_THROWS_WITH(extract_tar(folder / "no.tar", {{"x", 1}}, folder / "out"),
                    ContainsSubstring("no.tar is not a tar archive"));
  write_file(folder / "in" / "x.bin", lines(10000));
  shell("tar -cf " + quoted(folder / "a.tar") + " -C " + quoted(folder.path()) + " in");
  write_file(folder / "half.tar", read_text(folder / "a.tar").substr(0, 50000));
  CHECK_THROWS_WITH(extract_tar(folder / "half.tar", {{"x.bin", lines(10000).size()}}, folder / "out"),
                    ContainsSubstring("ends too early"));
}
