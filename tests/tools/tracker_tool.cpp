// Writes what a tracker writes of a small run, for the readers of others to judge:
//   tracker_tool TRACKER FOLDER whole|stopped|interrupted|failed|killed|resumed|retried|placed|many|wide
//     [key=value ..]
// whole, stopped, interrupted, failed: 200 steps, and that end; killed: 100 steps and SIGKILL; resumed: 60
// steps, and then 41 to 80 of a run resumed at 40; placed: the same, and what came after the checkpoint
// begins with its own step; many: 100,000 steps of one metric; wide: 3 steps of 500 metrics.
#include <cmath>
#include <csignal>
#include <iostream>

#include "components/images/image_codec.hpp"
#include "components/trackers/tracker.hpp"
#include "tests/support/parts.hpp"

using namespace runner;

namespace {

RunFacts facts_for(const std::filesystem::path& folder) {
  RunFacts facts{"größe 1", folder, "[optimizer]\nlr = 0.1\n", {}};
  facts.settings = {{"optimizer.lr", 0.1},
                    {"optimizer.name", "sgd"},
                    {"train.epochs", std::int64_t{3}},
                    {"run.deterministic", true},
                    {"model.note", "\xff\xc3\xa4"}};
  facts.id = "0123456789abcdef0123456789abcdef";
  facts.tags = {"baseline", "ä"};
  facts.started_at = 1700000000.5;
  return facts;
}

Record record_at(std::int64_t step) {
  const auto number = static_cast<double>(step);
  Record record{step, number / 100, number / 10, {{"train/loss", 1 / number}}, 1700000000.5 + number / 10};
  if (step == 7) record.values.emplace_back("odd/value", NAN);
  if (step == 8) record.values.emplace_back("odd/value", INFINITY);
  if (step == 9) record.values.emplace_back("odd/value", -INFINITY);
  record.values.emplace_back("größe/ä", number);
  return record;
}

void log_steps(Tracker& tracker, std::int64_t first, std::int64_t last) {
  for (std::int64_t step = first; step <= last; ++step) {
    tracker.log(record_at(step));
    if (step % 20 == 0) {  // a second record of the same step
      Record evaluation{
          step, 0, 0, {{"eval/accuracy", static_cast<double>(step) / 1000}}, record_at(step).wall_time};
      tracker.log(evaluation);
      tracker.flush();
    }
  }
}

void log_media(Tracker& tracker) {
  const std::vector<std::uint8_t> pixels(2 * 3 * 3, 200);
  tracker.image("samples/first_batch", {encode_png(pixels, {2, 3}), 2, 3}, 0);
  tracker.text("note", "two\nlines ä", 5);
  tracker.histogram("weights/fc", {-1, 1, 4, 0.5, 2, {0, 1}, {1, 3}}, 10);
}

std::unique_ptr<Tracker> build(const std::string& name, const std::filesystem::path& folder, int count,
                               char** words) {
  runner::testing::Settings settings;
  for (int i = 0; i < count; ++i) {
    const std::string word = words[i];
    settings.emplace_back(word.substr(0, word.find('=')), word.substr(word.find('=') + 1));
  }
  return runner::testing::part<TrackerKind>(name, settings).build({folder});
}

void run(const std::string& scenario, Tracker& tracker, RunFacts facts, const auto& another) {
  tracker.start(facts);
  if (scenario == "many") {
    for (std::int64_t step = 1; step <= 100000; ++step)
      tracker.log({step, 0, 0, {{"train/loss", 1 / static_cast<double>(step)}}, 1700000000});
  } else if (scenario == "wide") {
    for (std::int64_t step = 1; step <= 3; ++step) {
      Record record{step, 0, 0, {}, 1700000000};
      for (int i = 0; i < 500; ++i) record.values.emplace_back("many/metric" + std::to_string(i), i + 0.5);
      tracker.log(record);
    }
  } else if (scenario == "killed") {
    log_steps(tracker, 1, 100);
    tracker.flush();
    std::raise(SIGKILL);
  } else if (scenario == "resumed" || scenario == "retried" || scenario == "placed") {
    const bool failed = scenario == "retried", placed = scenario == "placed";
    log_steps(tracker, 1, failed || placed ? 40 : 60);
    tracker.flush();
    if (placed) {
      facts.place = tracker.place();
      log_steps(tracker, 40, 60);
      tracker.flush();
    }
    if (failed) tracker.finish({Outcome::failed, "out of memory", 1700000200});
    auto second = another();
    const State state = tracker.save();
    if (!state.empty()) second->load(state);
    facts.resumed_at = 40;
    second->start(facts);
    log_steps(*second, 41, 80);
    second->flush();
    return second->finish({Outcome::finished, {}, 1700000300});
  } else {
    log_media(tracker);
    log_steps(tracker, 1, 200);
  }
  tracker.flush();
  if (scenario == "stopped") return tracker.finish({Outcome::stopped, "no longer better", 1700000300});
  if (scenario == "interrupted") return tracker.finish({Outcome::interrupted, "SIGINT", 1700000300});
  if (scenario == "failed") return tracker.finish({Outcome::failed, "the loss is not a number", 1700000300});
  tracker.finish({Outcome::finished, {}, 1700000300});
}

}  // namespace

int main(int count, char** words) {
  if (count < 4) return std::cerr << "usage: tracker_tool TRACKER FOLDER SCENARIO [key=value ..]\n", 2;
  try {
    const auto another = [&] { return build(words[1], words[2], count - 4, words + 4); };
    auto tracker = another();
    run(words[3], *tracker, facts_for(words[2]), another);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
