#include <catch2/catch_all.hpp>

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <thread>

#include "components/trackers/tracker.hpp"
#include "registry/base/live_line.hpp"
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
    tracker->log({70, 0.5, 2, {{"eval/recall/\x1b[31ma\nb", 1}}});
  });
  CHECK(text ==
        "step=50 epoch=0.25 time=1.5 train/loss=0.1 train/lr=1e-05\n"
        "step=60 epoch=0.5 time=2 eval/accuracy=nan\n"
        "step=70 epoch=0.5 time=2 eval/recall/?[31ma?b=1\n");
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

TEST_CASE("console prints every n-th record in a resumed run, too") {
  const auto build = [] { return part<TrackerKind>("console", {{"every", 2}}).build({}); };
  const std::string text = captured([&] {
    const auto first = build();
    first->log({1, 0, 0, {{"x", 1}}});
    RunFacts facts;
    facts.resumed_at = 1;
    facts.place = first->place();
    const auto resumed = build();
    resumed->start(facts);
    for (int step = 2; step <= 3; ++step) resumed->log({step, 0, 0, {{"x", 1}}});
  });
  CHECK(text == "step=1 epoch=0 time=0 x=1\nstep=3 epoch=0 time=0 x=1\n");
}

TEST_CASE("console waits for room in a pipe that another program has made non-blocking") {
  int pipe_ends[2];
  REQUIRE(pipe2(pipe_ends, O_NONBLOCK) == 0);
  const std::string full(1 << 20, 'x');
  const ssize_t waiting = write(pipe_ends[1], full.data(), full.size());  // as much as fits
  REQUIRE(waiting > 0);
  REQUIRE(fcntl(pipe_ends[0], F_SETFL, 0) == 0);
  std::string text;
  std::thread reader([&] {
    std::string piece(1 << 16, '\0');
    for (ssize_t count = 0; (count = read(pipe_ends[0], piece.data(), piece.size())) > 0;)
      text.append(piece, 0, static_cast<std::size_t>(count));
  });
  std::string problem;
  with_output_to(pipe_ends[1], [&] {
    try {
      part<TrackerKind>("console").build({})->log({1, 0, 0, {{std::string(1 << 20, 'y'), 1}}});
    } catch (const std::exception& error) {
      problem = error.what();
    }
  });
  close(pipe_ends[1]);
  reader.join();
  close(pipe_ends[0]);
  CHECK(problem.empty());
  CHECK(text.substr(static_cast<std::size_t>(waiting)) ==
        "step=1 epoch=0 time=0 " + std::string(1 << 20, 'y') + "=1\n");
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
