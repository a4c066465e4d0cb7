#include <catch2/catch_all.hpp>

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "components/trackers/tracker.hpp"
#include "registry/live_line.hpp"
#include "tests/support/parts.hpp"
#include "tests/support/temporary_folder.hpp"

namespace runner {
namespace {

using testing::part;
using testing::Setting;

// Standard output is this file while the action runs.
template <class Action>
void with_output_to(int file, Action action) {
  const int saved = dup(STDOUT_FILENO);
  dup2(file, STDOUT_FILENO);
  action();
  dup2(saved, STDOUT_FILENO);
  close(saved);
}

// What is written to standard output meanwhile.
template <class Action>
std::string captured(Action action) {
  testing::TemporaryFolder folder;
  const int file = open((folder / "out").c_str(), O_WRONLY | O_CREAT, 0600);
  with_output_to(file, action);
  close(file);
  return testing::read_text(folder / "out");
}

TEST_CASE("console prints one line of name=value pairs per record") {
  auto tracker = part<TrackerKind>("console").build({});
  const std::string text = captured([&] {
    tracker->log({50, 0.25, 1.5, {{"train/loss", 0.1}, {"train/lr", 1e-5}}});
    tracker->log({60, 0.5, 2, {{"eval/accuracy", NAN}}});
  });
  CHECK(text ==
        "step=50 epoch=0.25 time=1.5 train/loss=0.1 train/lr=1e-05\n"
        "step=60 epoch=0.5 time=2 eval/accuracy=nan\n");
}

TEST_CASE("console prints every n-th record of those that have what is wanted") {
  auto tracker =
      part<TrackerKind>("console", {{"every", 2}, {"metrics", Setting::list({"eval/", "train/loss"})}})
          .build({});
  const std::string text = captured([&] {
    for (int step = 1; step <= 6; ++step) {
      tracker->log({step, 0, 0, {{"train/loss", 1}, {"train/lr", 2}}});
      tracker->log({step, 0, 0, {{"perf/examples_per_second", 3}}});  // nothing wanted: not counted
    }
  });
  CHECK(text ==
        "step=1 epoch=0 time=0 train/loss=1\n"
        "step=3 epoch=0 time=0 train/loss=1\n"
        "step=5 epoch=0 time=0 train/loss=1\n");
}

// Into a pipe it must not: the pipe's reader may pause, and whoever wants to draw the line would wait for it.
TEST_CASE("console holds a live line back while it prints to a terminal, and only there") {
  struct Recorder : LiveLine {
    void erase() override { calls += "erase "; }
    void draw() override { calls += "draw "; }
    std::string calls;
  } line;
  const auto print = [] { part<TrackerKind>("console").build({})->log({1, 0, 0, {{"x", 1}}}); };
  const int controller = posix_openpt(O_RDWR | O_NOCTTY);
  REQUIRE((controller >= 0 && grantpt(controller) == 0 && unlockpt(controller) == 0));
  const int terminal = open(ptsname(controller), O_RDWR | O_NOCTTY);
  REQUIRE(terminal >= 0);
  int pipe_ends[2];
  REQUIRE(pipe(pipe_ends) == 0);

  set_live_line(&line);
  with_output_to(pipe_ends[1], print);
  CHECK(line.calls.empty());
  with_output_to(terminal, print);
  CHECK(line.calls == "erase draw ");
  set_live_line(nullptr);
  for (const int each : {controller, terminal, pipe_ends[0], pipe_ends[1]}) close(each);
}

}  // namespace
}  // namespace runner
