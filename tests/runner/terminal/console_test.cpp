#include "runner/terminal/console.hpp"

#include <catch2/catch_all.hpp>

#include <atomic>
#include <thread>

#include "registry/base/log.hpp"
#include "runner/terminal/text.hpp"
#include "tests/runner/terminal/screen.hpp"

namespace runner {
namespace {

using Catch::Matchers::ContainsSubstring;
using testing::Screen;

// A console that writes to a screen of the test's own, at a time of the test's own.
struct Desk {
  explicit Desk(bool terminal, int width_ = 80) : width(width_), screen(width_) {
    output.terminal = terminal;
    output.utf8 = true;
    output.width = [this] { return width; };
    output.clock = [this] { return now; };
    output.write = [this](std::string_view text) {
      written += text;
      screen.write(text);
    };
  }
  int width;
  Screen screen;
  double now = 0;
  std::string written;
  ConsoleOutput output;
};

ProgressLine at(std::int64_t step, std::int64_t of = 100) {
  ProgressLine line;
  line.step = step;
  line.total_steps = of;
  line.epochs = 1;
  line.share = static_cast<double>(step) / static_cast<double>(of);
  line.epoch = line.share;
  line.seconds = static_cast<double>(step);
  line.loss = 1.5;
  line.lr = 0.1;
  return line;
}

RunSummary example_run() {
  RunSummary run;
  run.name = "cifar10";
  run.recipe = "recipes/cifar10.toml";
  run.model = "resnet18";
  run.parameters = run.trained_parameters = 11173962;
  run.dataset = "cifar10";
  run.train_examples = 50000;
  run.eval_examples = 10000;
  run.batch_size = 64;
  run.eval_batch_size = 256;
  run.accumulation_steps = 2;
  run.steps_per_epoch = 391;
  run.total_steps = 1955;
  run.epochs = 5;
  run.loss = "cross_entropy";
  run.optimizer = "sgd";
  run.scheduler = "one_cycle";
  run.precision = "bf16";
  run.device = "cpu, 2 threads";
  run.trackers = {"jsonl", "tensorboard"};
  run.folder = "runs/cifar10/1";
  return run;
}

TEST_CASE("the summary is an aligned table of what is about to run") {
  Desk desk(false);
  Console console(desk.output, desk.output);
  console.summary(example_run());
  CHECK(desk.written ==
        "cifar10  recipes/cifar10.toml\n"
        "  model      resnet18 · 11,173,962 parameters\n"
        "  data       cifar10 · 50,000 examples to train, 10,000 to evaluate\n"
        "  batch      64 × 2 accumulated = 128 examples a step · 256 to evaluate\n"
        "  length     5 epochs · 1,955 steps · 391 steps an epoch\n"
        "  loss       cross_entropy\n"
        "  optimizer  sgd\n"
        "  scheduler  one_cycle\n"
        "  precision  bf16\n"
        "  device     cpu, 2 threads\n"
        "  trackers   jsonl, tensorboard\n"
        "  folder     runs/cifar10/1\n\n");
}

TEST_CASE("on a terminal one line is drawn over and over, ten times a second at most") {
  Desk desk(true);
  {
    Console console(desk.output, desk.output);
    CHECK(console.progress_due());
    console.progress(at(1));
    const std::string first = desk.written;
    desk.now = 0.05;
    CHECK_FALSE(console.progress_due());
    console.progress(at(2));
    CHECK(desk.written == first);
    desk.now = 0.15;
    CHECK(console.progress_due());
    console.progress(at(3));
    REQUIRE(desk.screen.lines().size() == 1);
    CHECK_THAT(desk.screen.lines()[0], ContainsSubstring("step 3/100") && ContainsSubstring("ETA 1m 37s"));
    console.evaluation({3, 0.03, {{"eval/accuracy", 0.5}}, 1, false});
    REQUIRE(desk.screen.lines().size() == 2);
    CHECK_THAT(desk.screen.lines()[0], ContainsSubstring("accuracy 0.5"));
    CHECK_THAT(desk.screen.lines()[1], ContainsSubstring("step 3/100"));
    desk.now = 1;
    console.evaluating(0.5);
    CHECK_THAT(desk.screen.lines()[1], ContainsSubstring("evaluating") && ContainsSubstring("50%"));
  }
  CHECK(desk.screen.lines().size() == 1);  // gone with the console
}

TEST_CASE("the loss shown last stays until there is a new one") {
  Desk desk(true);
  Console console(desk.output, desk.output);
  console.progress(at(1));
  desk.now = 1;
  ProgressLine line = at(2);
  line.loss.reset();
  console.progress(line);
  CHECK_THAT(desk.screen.lines()[0], ContainsSubstring("step 2/100") && ContainsSubstring("loss 1.500"));
}

TEST_CASE(
    "a terminal that becomes narrower breaks the old line; the new one fits, and nothing is left of the "
    "old") {
  Desk desk(true);
  Console console(desk.output, desk.output);
  console.evaluation({3, 0.03, {{"eval/accuracy", 0.5}}, 1, false});
  console.progress(at(1));
  for (const int width : {40, 25, 120, 12}) {
    desk.width = width;
    desk.screen.resize(width);
    desk.now += 1;
    console.progress(at(2));
    const auto lines = desk.screen.lines();
    CHECK(visible_width(lines.back()) < static_cast<std::size_t>(width));
    std::string above;  // spaces at a break are lost
    for (std::size_t i = 0; i + 1 < lines.size(); ++i) above += lines[i];
    std::erase(above, ' ');
    CHECK(above == "evalepoch0.03step3accuracy0.5000in1.0s");
  }
}

TEST_CASE("printing from another thread does not tear the line") {
  Desk desk(true);
  Console console(desk.output, desk.output);
  std::atomic<bool> done = false;
  std::thread other([&] {
    for (int i = 0; i < 500; ++i) {
      const LiveLinePause pause;
      desk.output.write("message " + std::to_string(i) + "\n");
    }
    done = true;
  });
  for (int step = 1; !done || step <= 100; ++step) {
    desk.now += 1;
    console.progress(at(step, 1000000));
  }
  other.join();
  const auto lines = desk.screen.lines();
  REQUIRE(lines.size() == 501);
  for (int i = 0; i < 500; ++i) CHECK(lines[static_cast<std::size_t>(i)] == "message " + std::to_string(i));
}

TEST_CASE("piped, there are plain lines every ten seconds and one at the end") {
  Desk desk(false);
  Console console(desk.output, desk.output);
  ProgressLine without_loss = at(1);
  without_loss.loss.reset();
  console.progress(without_loss);
  CHECK(desk.written.empty());
  for (int step = 1; step <= 100; ++step) {
    desk.now = 0.25 * step;
    console.progress(at(step));
    console.progress(at(step));
  }
  CHECK(desk.written ==
        "epoch 1/1  step 1/100  loss 1.500  lr 0.1000\n"
        "epoch 1/1  step 41/100  loss 1.500  lr 0.1000  ETA 59s\n"
        "epoch 1/1  step 81/100  loss 1.500  lr 0.1000  ETA 19s\n"
        "epoch 1/1  step 100/100  loss 1.500  lr 0.1000  ETA 0.0s\n");
}

TEST_CASE("piped, nothing but text is written") {
  Desk desk(false);
  Console console(desk.output, desk.output);
  console.summary(example_run());
  console.progress(at(1));
  console.evaluating(0.5);
  console.evaluation({3, 0.03, {{"eval/accuracy", 0.5}}, 1, true});
  console.closing({});
  CHECK(desk.written.find('\x1b') == std::string::npos);
  CHECK(desk.written.find('\r') == std::string::npos);
}

TEST_CASE("the closing table has the curve, the best result, the files and the warnings") {
  Desk desk(false);
  Console console(desk.output, desk.output);
  ClosingSummary run;
  run.outcome = Outcome::stopped;
  run.reason = "eval/accuracy has not improved for 5 evaluations";
  run.steps = 1955;
  run.skipped_steps = 2;
  run.epochs = 5;
  run.seconds = 192;
  run.best = BestResult{"eval/accuracy", 0.7321, 1564, 4};
  run.last = {{"eval/accuracy", 0.72}, {"eval/loss", 0.81}};
  run.loss_curve = {{1, 2.3}, {1955, 0.4}};
  run.files = {{"model", "runs/x/model.safetensors"}, {"metrics", "runs/x/metrics.jsonl"}};
  run.warnings = {"something odd"};
  console.closing(run);
  CHECK_THAT(desk.written,
             ContainsSubstring("stopped after 3m 12s · 1,955 steps · 5 epochs · 2 updates skipped\n"
                               "eval/accuracy has not improved for 5 evaluations\n"));
  CHECK_THAT(desk.written, ContainsSubstring("2.300 ┤") && ContainsSubstring("1,955 steps"));
  CHECK_THAT(desk.written, ContainsSubstring("  best     eval/accuracy 0.7321 at step 1,564, epoch 4\n"
                                             "  last     eval/accuracy 0.7200 · eval/loss 0.8100\n"
                                             "  model    runs/x/model.safetensors\n"
                                             "  metrics  runs/x/metrics.jsonl\n"));
  CHECK_THAT(desk.written, ContainsSubstring("1 warning\n  something odd\n"));
}

TEST_CASE("of many warnings the first are repeated and the rest counted") {
  Desk desk(false);
  Console console(desk.output, desk.output);
  ClosingSummary run;
  for (int i = 0; i < 250; ++i) run.warnings.push_back("warning " + std::to_string(i));
  console.closing(run);
  CHECK_THAT(desk.written,
             ContainsSubstring("250 warnings\n") && ContainsSubstring("  warning 9\n  and 240 more"));
}

TEST_CASE("stand-in data is boxed at the start and at the end, in every kind of output") {
  const bool utf8 = GENERATE(true, false);
  for (const int width : {40, 80, 200}) {
    Desk desk(true, width);
    desk.output.utf8 = utf8;
    Console console(desk.output, desk.output);
    RunSummary run = example_run();
    run.stand_in = "CIFAR-10 was not found, so the run trains on drawn shapes.";
    console.summary(run);
    CHECK_THAT(desk.written, ContainsSubstring("STAND-IN DATA"));
    desk.written.clear();
    ClosingSummary closing;
    closing.stand_in = run.stand_in;
    console.closing(closing);
    CHECK_THAT(desk.written, ContainsSubstring("STAND-IN DATA") && ContainsSubstring("drawn shapes."));
    for (const std::string& line : desk.screen.lines())
      CHECK(visible_width(line) <= static_cast<std::size_t>(width));
  }
}

TEST_CASE("colours only where they are wanted") {
  Desk desk(true);
  desk.output.colour = true;
  {
    Console console(desk.output, desk.output);
    console.closing({});
  }
  CHECK_THAT(desk.written, ContainsSubstring("\x1b[32mfinished\x1b[0m"));
}

}  // namespace
}  // namespace runner
