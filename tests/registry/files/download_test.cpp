#include "registry/files/download.hpp"

#include <unistd.h>

#include <catch2/catch_all.hpp>

#include "registry/files/io_error.hpp"
#include "registry/files/progress_bar.hpp"
#include "registry/files/sha256.hpp"
#include "tests/support/files.hpp"
#include "tests/support/http_server.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace runner;
using namespace runner::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

std::string body_of(std::size_t size) {
  std::string body(size, '\0');
  for (std::size_t i = 0; i < size; ++i) body[i] = static_cast<char>(i * 2654435761u >> 13);
  return body;
}

std::string digest(const std::string& bytes) {
  Sha256 sha;
  sha.update({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
  return sha.hex();
}

// Loopback is reached without a proxy, whatever the environment says.
struct Fixture {
  EnvironmentVariable no_proxy{"no_proxy", "127.0.0.1"};
  TemporaryFolder folder;
  std::filesystem::path target = folder / "new" / "file.bin";
  std::filesystem::path part = folder / "new" / "file.bin.part";
  std::string body = body_of(300'000);

  bool nothing_left() const { return !std::filesystem::exists(target) && !std::filesystem::exists(part); }
};

}  // namespace

TEST_CASE_METHOD(Fixture, "a download arrives whole, in a folder made for it") {
  const HttpServer server({.body = body});
  download({.url = server.url("/file.bin"), .target = target, .sha256 = digest(body)});
  CHECK(read_text(target) == body);
  CHECK_FALSE(std::filesystem::exists(part));
}

TEST_CASE_METHOD(Fixture, "a connection that breaks is resumed from where it broke") {
  const HttpServer server({.body = body, .cut_after = 100'000});
  download({.url = server.url("/file.bin"), .target = target, .sha256 = digest(body)});
  CHECK(read_text(target) == body);
  const auto requests = server.requests();
  REQUIRE(requests.size() == 3);
  CHECK_THAT(requests[1], ContainsSubstring("Range: bytes=100000-"));
  CHECK_THAT(requests[2], ContainsSubstring("Range: bytes=200000-"));
}

TEST_CASE_METHOD(Fixture, "what an earlier run left is gone on from") {
  const HttpServer server({.body = body});
  write_file(part, body.substr(0, 123'456));
  download({.url = server.url("/file.bin"), .target = target, .sha256 = digest(body)});
  CHECK(read_text(target) == body);
  CHECK_THAT(server.requests().at(0), ContainsSubstring("Range: bytes=123456-"));
}

TEST_CASE_METHOD(Fixture, "a server without ranges is asked once, and what was there is dropped") {
  const HttpServer server({.body = body, .ranges = false});
  write_file(part, body.substr(0, 123'456));
  download({.url = server.url("/file.bin"), .target = target, .sha256 = digest(body)});
  CHECK(read_text(target) == body);
  CHECK(server.requests().size() == 1);
}

TEST_CASE_METHOD(Fixture, "a part that was already whole is only compared") {
  const HttpServer server({.body = body});
  write_file(part, body);
  download({.url = server.url("/file.bin"), .target = target, .sha256 = digest(body)});
  CHECK(read_text(target) == body);
}

TEST_CASE_METHOD(Fixture, "a part of another version is dropped and fetched anew") {
  const HttpServer server({.body = body});
  write_file(part, std::string(GENERATE(1'000, 400'000), 'x'));
  download({.url = server.url("/file.bin"), .target = target, .sha256 = digest(body)});
  CHECK(read_text(target) == body);
}

TEST_CASE_METHOD(Fixture, "a file with another digest is refused and leaves nothing") {
  const HttpServer server({.body = body});
  CHECK_THROWS_WITH(download({.url = server.url("/file.bin"), .target = target, .sha256 = digest("other")}),
                    ContainsSubstring("SHA-256 differs") && ContainsSubstring(server.url("/file.bin")));
  CHECK(nothing_left());
}

TEST_CASE_METHOD(Fixture, "an error of the server is reported and leaves nothing") {
  const HttpServer server({.body = body, .status = 404});
  CHECK_THROWS_WITH(download({.url = server.url("/file.bin"), .target = target}),
                    ContainsSubstring("answered 404"));
  CHECK(nothing_left());
}

TEST_CASE_METHOD(Fixture, "a server that sends more than a file may have is left, and nothing is kept") {
  constexpr std::int64_t most = 200'000;
  SECTION("without an end") {
    const HttpServer server({.body = body, .endless = true});
    CHECK_THROWS_WITH(download({.url = server.url("/file.bin"), .target = target, .most_bytes = most}),
                      ContainsSubstring("more than 200000 bytes"));
  }
  SECTION("as it says itself") {
    const HttpServer server({.body = body});
    CHECK_THROWS_WITH(download({.url = server.url("/file.bin"), .target = target, .most_bytes = most}),
                      ContainsSubstring("more than 200000 bytes"));
  }
  SECTION("in parts") {
    const HttpServer server({.body = body, .cut_after = 60'000});
    CHECK_THROWS_WITH(download({.url = server.url("/file.bin"), .target = target, .most_bytes = most}),
                      ContainsSubstring("more than 200000 bytes"));
  }
  CHECK(nothing_left());
}

TEST_CASE_METHOD(Fixture, "a connection that keeps breaking at once gives up and keeps what came") {
  const HttpServer server({.body = body, .cut_after = 1'000});
  CHECK_THROWS_WITH(download({.url = server.url("/file.bin"), .target = target}),
                    ContainsSubstring("Cannot download"));
  CHECK_FALSE(std::filesystem::exists(target));
  CHECK(read_text(part) == body.substr(0, std::filesystem::file_size(part)));
  CHECK(std::filesystem::file_size(part) == 6'000);
}

TEST_CASE_METHOD(Fixture, "a refused connection and a strange protocol are reported with the address") {
  std::string gone;
  {
    const HttpServer server({.body = body});
    gone = server.url("/file.bin");
  }
  CHECK_THROWS_WITH(download({.url = gone, .target = target}), ContainsSubstring("Cannot download " + gone));
  write_file(folder / "local", "x");
  CHECK_THROWS_WITH(download({.url = "file://" + (folder / "local").string(), .target = target}),
                    ContainsSubstring("Cannot download file://"));
  CHECK(nothing_left());
}

TEST_CASE_METHOD(Fixture, "a place that cannot be written to is reported with its path") {
  const HttpServer server({.body = body});
  write_file(folder / "occupied", "a file where a folder is needed");
  CHECK_THROWS_WITH(download({.url = server.url("/file.bin"), .target = folder / "occupied" / "file.bin"}),
                    ContainsSubstring("Cannot write") && ContainsSubstring("occupied/file.bin.part"));
  CHECK(server.requests().empty());
}

TEST_CASE_METHOD(Fixture, "a disk that fills up during the download is reported") {
  std::filesystem::create_directories(target.parent_path());
  std::filesystem::create_symlink("/dev/full", part);
  const HttpServer server({.body = body});
  CHECK_THROWS_WITH(download({.url = server.url("/file.bin"), .target = target}),
                    ContainsSubstring("Cannot write") && ContainsSubstring("No space left"));
  CHECK_FALSE(std::filesystem::exists(target));
}

TEST_CASE("the progress line says how far and how fast") {
  CHECK(ProgressBar::line("a.gz", 50'000'000, 200'000'000, 2'500'000, 80) ==
        "a.gz  [#######                       ] 25 %  50.0 MB of 200.0 MB  2.5 MB/s");
  CHECK(ProgressBar::line("a.gz", 50'000'000, 0, 0, 80) == "a.gz  50.0 MB  0.0 MB/s");
}

TEST_CASE("the progress line fits into the terminal, and leaves its last column free") {
  const auto line = [](int width) {
    return ProgressBar::line("cifar-10-binary.tar.gz", 76'700'000, 170'100'000, 12'300'000, width);
  };
  CHECK(line(80) == "cifar-10-binary.tar.gz  [#######         ] 45 %  76.7 MB of 170.1 MB  12.3 MB/s");
  CHECK(line(80).size() == 79);
  CHECK(line(65) == "cifar-10-binary.tar.gz  45 %  76.7 MB of 170.1 MB  12.3 MB/s");
  CHECK(line(50) == "cifar-10-binary.tar.gz  45 %  76.7 MB of 170.1 MB");
  CHECK(line(40) == "45 %  76.7 MB of 170.1 MB");
  CHECK(line(5) == "45 %");
  CHECK(line(1).empty());
}
