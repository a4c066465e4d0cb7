#include "registry/base/live_line.hpp"

#include <catch2/catch_all.hpp>

#include <string>

#include "registry/base/log.hpp"

namespace runner {
namespace {

struct Recorder : LiveLine {
  Recorder() { set_live_line(this); }
  ~Recorder() override { set_live_line(nullptr); }
  void erase() override { calls += "erase "; }
  void draw() override { calls += "draw "; }
  std::string calls;
};

TEST_CASE("a pause takes the live line away once and puts it back once, also when pauses nest") {
  Recorder line;
  {
    const LiveLinePause outer;
    CHECK(line.calls == "erase ");
    const LiveLinePause inner;
  }
  CHECK(line.calls == "erase draw ");
}

TEST_CASE("a logged message holds the live line back") {
  Recorder line;
  log::info("a message above the live line");
  CHECK(line.calls == "erase draw ");
}

TEST_CASE("its owner can hold others off without touching it") {
  Recorder line;
  {
    const auto lock = lock_live_line();
  }
  CHECK(line.calls.empty());
}

}  // namespace
}  // namespace runner
