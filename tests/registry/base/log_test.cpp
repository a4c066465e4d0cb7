#include "registry/base/log.hpp"

#include <catch2/catch_all.hpp>

#include <cstdio>
#include <filesystem>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "tests/support/temporary_folder.hpp"

namespace runner {  // `log` alone would be the logarithm
namespace {

using Catch::Matchers::ContainsSubstring;

// A folder of its own, stderr turned into a file in it, and the log as it was at the start.
struct Sandbox {
  const testing::TemporaryFolder folder;
  const std::filesystem::path& dir = folder.path();
  int saved_stderr = ::dup(STDERR_FILENO);

  Sandbox() {
    const int file = ::open((dir / "stderr").c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600);
    ::dup2(file, STDERR_FILENO);
    ::close(file);
    log::add_file(dir / "former.txt");  // takes what was logged before
    log::close_files();
    log::clear_warnings();
  }

  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;

  ~Sandbox() {
    log::close_files();
    log::clear_warnings();
    std::fflush(stderr);
    ::dup2(saved_stderr, STDERR_FILENO);
    ::close(saved_stderr);
  }

  std::string on_stderr() const { return testing::read_text(dir / "stderr"); }
};

}  // namespace

TEST_CASE("format fills the holes in order", "[log]") {
  CHECK(log::format("a {} b {}", 1, "x") == "a 1 b x");
  CHECK(log::format("{}{}", true, 0.5) == "true0.5");
  CHECK(log::format("") == "");
}

TEST_CASE("format shows a message that has a mistake", "[log]") {
  CHECK(log::format("a {} b {}", 1) == "a 1 b {}");
  CHECK(log::format("a", 1, 2) == "a 1 2");
}

TEST_CASE("braces mean nothing in a message or a value", "[log]") {
  const Sandbox sandbox;
  log::info("x = {} {0} {:d}");
  log::info("y = {}", "{} %v {x}");
  CHECK(sandbox.on_stderr() == "x = {} {0} {:d}\ny = {} %v {x}\n");
}

TEST_CASE("messages go to stderr, plain when it is not a terminal", "[log]") {
  const Sandbox sandbox;
  log::error("disk full");
  CHECK(sandbox.on_stderr() == "error: disk full\n");
}

TEST_CASE("in a silence nothing is written", "[log]") {
  const Sandbox sandbox;
  log::add_file(sandbox.dir / "log.txt");
  {
    const log::Silence outer;
    {
      const log::Silence inner;
    }
    log::error("nothing");
  }
  log::error("heard");
  CHECK(sandbox.on_stderr() == "error: heard\n");
  CHECK_THAT(testing::read_text(sandbox.dir / "log.txt"), !ContainsSubstring("nothing"));
}

TEST_CASE("a file gets what was said before there was one, too, each with its time", "[log]") {
  const Sandbox sandbox;
  log::info("before");
  log::write_to_files("shown elsewhere", log::Level::error);
  log::add_file(sandbox.dir / "log.txt");
  log::info("during");
  const auto text = testing::read_text(sandbox.dir / "log.txt");  // readable at once: a killed run keeps it
  log::close_files();
  log::info("after");

  const std::string time = R"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} )";
  CHECK_THAT(text, Catch::Matchers::Matches(time + "info: before\n" + time + "error: shown elsewhere\n" +
                                            time + "info: during\n"));
  CHECK(testing::read_text(sandbox.dir / "log.txt") == text);
  CHECK_THAT(sandbox.on_stderr(), ContainsSubstring("before") && ContainsSubstring("after"));
}

TEST_CASE("a file is appended to: a resumed run keeps its history", "[log]") {
  const Sandbox sandbox;
  for (const auto* text : {"first", "second"}) {
    log::add_file(sandbox.dir / "log.txt");
    log::info(text);
    log::close_files();
  }
  CHECK_THAT(testing::read_text(sandbox.dir / "log.txt"),
             ContainsSubstring("first") && ContainsSubstring("second"));
}

TEST_CASE("a file that cannot be opened is named, with the reason", "[log]") {
  const Sandbox sandbox;
  CHECK_THROWS_WITH(log::add_file(sandbox.dir / "absent" / "log.txt"),
                    ContainsSubstring("absent/log.txt") && ContainsSubstring("No such file or directory"));
}

TEST_CASE("a log file on a full disk is reported once, and logging goes on", "[log]") {
  const Sandbox sandbox;
  log::info("before");
  std::filesystem::create_symlink("/dev/full", sandbox.dir / "log.txt");
  CHECK_NOTHROW(log::add_file(sandbox.dir / "log.txt"));
  log::add_file(sandbox.dir / "other.txt");
  CHECK_NOTHROW(log::error("first"));
  CHECK_NOTHROW(log::write_to_files("second"));
  CHECK_NOTHROW(log::close_files());

  REQUIRE(log::warnings().size() == 1);
  CHECK_THAT(log::warnings().front(),
             ContainsSubstring("log.txt") && ContainsSubstring("No space left on device"));
  CHECK(sandbox.on_stderr() == "before\nwarning: " + log::warnings().front() + "\nerror: first\n");
  CHECK_THAT(testing::read_text(sandbox.dir / "other.txt"),
             ContainsSubstring("first") && ContainsSubstring("second"));
}

TEST_CASE("a full disk that only log files notice is reported on the terminal", "[log]") {
  const Sandbox sandbox;
  std::filesystem::create_symlink("/dev/full", sandbox.dir / "log.txt");
  log::add_file(sandbox.dir / "log.txt");
  log::write_to_files("shown elsewhere");
  CHECK_THAT(sandbox.on_stderr(), ContainsSubstring("No space left on device"));
}

TEST_CASE("warnings are kept once each, in order, in a silence too", "[log]") {
  const Sandbox sandbox;
  const log::Silence quiet;
  log::warning("b {}", 1);
  log::warning("a");
  log::warning("b 1");
  CHECK(log::warnings() == std::vector<std::string>{"b 1", "a"});
  CHECK(sandbox.on_stderr().empty());
}

TEST_CASE("many threads may log at once, while files come and go", "[log]") {
  const Sandbox sandbox;
  log::add_file(sandbox.dir / "log.txt");
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([thread] {
      for (int i = 0; i < 100; ++i) log::info("thread {} message {} end", thread, i);
    });
  }
  log::add_file(sandbox.dir / "late.txt");
  for (auto& thread : threads) thread.join();

  std::istringstream lines{testing::read_text(sandbox.dir / "log.txt")};
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) CHECK(line.ends_with(" end"));
  CHECK(count == 800);
}

}  // namespace runner
