#include "runner/ranks/launch/rank_output.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch_all.hpp>

using namespace runner;

TEST_CASE("output of a rank: one that never stops writing does not keep the launcher from other work") {
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  RankOutput output(FileDescriptor(ends[0]), "", nullptr);
  FileDescriptor rank(ends[1]);
  // As if the rank had written again and again while its output was read.
  const std::string much(std::size_t{1} << 20, 'x');
  REQUIRE(fcntl(rank.number(), F_SETPIPE_SZ, static_cast<int>(much.size())) >= 0);
  REQUIRE(write(rank.number(), much.data(), much.size()) == static_cast<ssize_t>(much.size()));
  rank.reset();
  output.take();
  CHECK(output.open());  // the rest is for the next call
  while (output.open()) output.take();
  CHECK(output.last_lines().size() == much.size() / 65536);  // lines are cut there
}
