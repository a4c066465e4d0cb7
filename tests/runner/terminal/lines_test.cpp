#include "runner/terminal/lines.hpp"

#include <catch2/catch_all.hpp>

#include "runner/terminal/text.hpp"

namespace runner {
namespace {

using Catch::Matchers::ContainsSubstring;

ProgressLine example() {
  ProgressLine line;
  line.step = 880;
  line.total_steps = 1955;
  line.epoch = 2.25;
  line.epochs = 5;
  line.share = 0.45;
  line.loss = 0.4312;
  line.lr = 0.001;
  line.examples_per_second = 2345;
  return line;
}

TEST_CASE("the live line says epoch, step, loss, rate, speed and what is left") {
  CHECK(
      live_progress(example(), 62, {true, {}, 120}) ==
      "epoch 3/5  ━━━━━━━━━━╸─────────────  45%  step 880/1,955  loss 0.4312  lr 0.001000  2,345 examples/s "
      " ETA 1m 02s");
  CHECK(live_progress(example(), 62, {false, {}, 120}) ==
        "epoch 3/5  [==========>-------------]  45%  step 880/1,955  loss 0.4312  lr 0.001000  2,345 "
        "examples/s  ETA 1m 02s");
}

TEST_CASE("the live line never exceeds its width, and gives up the loss last") {
  const auto with_colour = GENERATE(false, true);
  for (int width = 1; width < 200; ++width) {
    const std::string line = live_progress(example(), 62, {true, {with_colour}, width});
    INFO(line);
    CHECK(visible_width(line) <= static_cast<std::size_t>(width));
    if (width >= 11) CHECK_THAT(line, ContainsSubstring("loss 0.4312"));
  }
  CHECK(live_progress(example(), 62, {true, {}, 30}) == "step 880/1,955  loss 0.4312");
}

TEST_CASE("what is not known is not shown") {
  ProgressLine line;
  line.step = 3;
  line.lr = 0.1;
  CHECK(plain_progress(line, {}) == "epoch 1  step 3  lr 0.1000");
}

TEST_CASE("the epoch shown is the one being worked on, also at the very end") {
  ProgressLine line = example();
  line.epoch = 5;
  line.share = 1;
  CHECK_THAT(live_progress(line, 0, {true, {}, 120}),
             ContainsSubstring("epoch 5/5") && ContainsSubstring("100%"));
  line.epochs = 0.5;
  line.epoch = 0.3;
  CHECK_THAT(plain_progress(line, {}), ContainsSubstring("epoch 1/1"));
}

TEST_CASE("an evaluation is one line, marked where it is the best so far") {
  const EvalLine line{391, 1, {{"eval/accuracy", 0.45123}, {"other", 2}}, 3.21, true};
  CHECK(evaluation_text(line, {true, {}, 80}) ==
        "eval  epoch 1  step 391  accuracy 0.4512  other 2  in 3.2s  best so far");
}

TEST_CASE("names from the data say nothing to the terminal, and do not bury the rest") {
  EvalLine line{
      391, 1, {{"eval/recall/\x1b]0;owned\x07", -std::nan("")}, {"eval/" + std::string(5000, 'x'), 1}}, 3.21};
  CHECK(evaluation_text(line, {true, {}, 80}) ==
        "eval  epoch 1  step 391  recall/\\x1b]0;owned\\x07 nan  " + std::string(120, 'x') + ".. 1  in 3.2s");
  for (int i = 0; i < 5000; ++i) line.measurements.emplace_back("eval/recall/class" + std::to_string(i), 0.5);
  const std::string text = evaluation_text(line, {true, {}, 80});
  CHECK(text.size() < 2000);
  CHECK_THAT(text, ContainsSubstring(" more  in 3.2s"));
}

}  // namespace
}  // namespace runner
