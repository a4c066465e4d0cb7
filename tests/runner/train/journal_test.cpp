#include "runner/train/journal.hpp"

#include <torch/utils.h>

#include <catch2/catch_all.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "runner/runs/tracking/build_trackers.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace runner;

namespace {

auto near(double value) { return Catch::Matchers::WithinRel(value, 1e-5); }

// A journal that writes metrics.jsonl, and what it wrote.
class Notebook {
 public:
  explicit Notebook(std::vector<GroupRule> groups = {})
      : journal(trackers_, console_, plan_, 2, std::move(groups)) {
    trackers_.start();
  }

  std::vector<nlohmann::json> records() {
    trackers_.flush();
    std::istringstream lines(testing::read_text(folder_ / "metrics.jsonl"));
    std::vector<nlohmann::json> found;
    for (std::string line; std::getline(lines, line);) found.push_back(nlohmann::json::parse(line));
    return found;
  }

  void step(double loss, double lr = 0.1, torch::Tensor gradient_norm = {}) {
    ++progress.step;
    progress.examples += 4;
    progress.seconds += 1;
    journal.step(progress, {{torch::tensor(loss), 1}, lr, 4, std::move(gradient_norm)});
  }
  void skipped(double loss) {
    journal.step(progress, {{torch::tensor(loss), 1}, 0.1, 4, {}, /*updated=*/false});
  }

 private:
  testing::TemporaryFolder folder_;
  Console console_{ConsoleOutput::silent(), ConsoleOutput::silent()};
  Trackers trackers_{build_trackers({}, Registry::of_linked(), {folder_.path()}),
                     {"x", folder_.path(), {}, {}}};
  Plan plan_;

 public:
  Progress progress;
  Journal journal;
};

GroupRule group(std::string match, double multiplier) {
  GroupRule rule;
  rule.match = std::move(match);
  rule.lr_multiplier = multiplier;
  return rule;
}

}  // namespace

TEST_CASE("journal: a record has the mean loss since the last one, and the present rate") {
  Notebook notes;
  notes.step(4);
  notes.step(2, 0.2, torch::tensor(5.0));
  CHECK(notes.journal.has_unlogged_steps());
  notes.journal.training(notes.progress, {{"loss_scale", 8}}, {{"hook/value", 9}});
  CHECK_FALSE(notes.journal.has_unlogged_steps());
  notes.step(7);
  notes.journal.training(notes.progress, {}, {});

  const auto records = notes.records();
  REQUIRE(records.size() == 2);
  CHECK(records[0]["step"] == 2);
  CHECK(records[0]["time"].get<double>() == 2);
  CHECK(records[0]["train/loss"].get<double>() == 3);
  CHECK_THAT(records[0]["train/lr"].get<double>(), near(0.2));
  CHECK(records[0]["train/grad_norm"].get<double>() == 5);
  CHECK(records[0]["train/loss_scale"].get<double>() == 8);
  CHECK(records[0]["hook/value"].get<double>() == 9);
  CHECK(records[1]["train/loss"].get<double>() == 7);
  CHECK_FALSE(records[1].contains("train/grad_norm"));
  CHECK(notes.journal.loss_curve() == std::vector<std::pair<double, double>>{{2, 3}, {3, 7}});
}

TEST_CASE("journal: the loss of an update that was skipped is not part of the mean") {
  Notebook notes;
  notes.step(4);
  notes.skipped(std::nan(""));
  notes.step(2);
  notes.journal.training(notes.progress, {}, {});
  notes.skipped(9);
  notes.journal.training(notes.progress, {}, {});
  const auto records = notes.records();
  REQUIRE(records.size() == 2);
  CHECK(records[0]["train/loss"].get<double>() == 3);
  CHECK_FALSE(records[1].contains("train/loss"));
  CHECK(notes.journal.loss_curve() == std::vector<std::pair<double, double>>{{2, 3}});
}

TEST_CASE("journal: groups with a rate of their own and skipped updates are in the record") {
  Notebook notes({group("fc.*", 0.1), group("bias", 1)});
  notes.progress.skipped_steps = 3;
  notes.step(1, 0.5);
  notes.journal.training(notes.progress, {}, {});
  const auto records = notes.records();
  REQUIRE(records.size() == 1);
  CHECK_THAT(records[0]["train/lr/fc.*"].get<double>(), near(0.05));
  CHECK_FALSE(records[0].contains("train/lr/bias"));
  CHECK(records[0]["train/skipped_steps"].get<double>() == 3);
}

TEST_CASE("journal: an evaluation is a record of its own, and known until the next step") {
  Notebook notes;
  notes.step(1);
  CHECK_FALSE(notes.journal.evaluated(notes.progress));
  notes.journal.evaluation(notes.progress, {{{"eval/accuracy", 0.5}}, {}, false}, 0.1, false);
  CHECK(notes.journal.evaluated(notes.progress));
  CHECK(notes.journal.last_evaluation() == Measurements{{"eval/accuracy", 0.5}});
  const auto records = notes.records();
  REQUIRE(records.size() == 1);
  CHECK(records[0]["eval/accuracy"].get<double>() == 0.5);
  notes.step(1);
  CHECK_FALSE(notes.journal.evaluated(notes.progress));
}

TEST_CASE("journal: nothing to say makes no record") {
  Notebook notes;
  notes.journal.measurements(notes.progress, {});
  CHECK(notes.records().empty());
  notes.journal.measurements(notes.progress, {{"late", 1}});
  CHECK(notes.records().size() == 1);
}

TEST_CASE("journal: an interval that was half filled goes on after a resume") {
  Notebook before;
  before.step(6);
  before.journal.training(before.progress, {}, {});
  before.journal.evaluation(before.progress, {{{"eval/loss", 1.5}, {"eval/accuracy", 0.5}}, {}, false}, 0.5,
                            false);
  before.step(4);

  Notebook after;
  after.progress = before.progress;
  after.journal.load(before.journal.save());
  CHECK(after.journal.has_unlogged_steps());
  CHECK(after.journal.last_evaluation() ==
        Measurements{{"eval/loss", 1.5}, {"eval/accuracy", 0.5}});  // in the order of the recipe
  CHECK_FALSE(after.journal.evaluated(after.progress));             // a step came after it
  after.step(2);
  after.journal.training(after.progress, {}, {});
  CHECK(after.records().at(0)["train/loss"].get<double>() == 3);  // of the one before and the one after
  CHECK(after.journal.loss_curve() == std::vector<std::pair<double, double>>{{1, 6}, {3, 3}});
}

TEST_CASE(
    "journal: an evaluation counts where the run was, and the last rate is known, after a resume, too") {
  Notebook before;
  before.step(6, 0.25);
  before.journal.evaluation(before.progress, {{{"eval/loss", 1.5}}, {}, false}, 0.5, false);
  Notebook after;
  after.progress = before.progress;
  after.journal.load(before.journal.save());
  CHECK(after.journal.evaluated(after.progress));
  after.journal.training(after.progress, {}, {});  // the end of the run, without another step
  CHECK(after.records().at(0)["train/lr"].get<double>() == 0.25);
}

TEST_CASE("journal: speed is that of training, without the time of evaluations, over a resume too") {
  const auto speed = [](const Notebook& notes) {
    return notes.journal.save().numbers.at("examples_per_second");
  };
  Notebook before;
  before.progress.seconds = 100;
  before.journal.training(before.progress, {}, {});  // an interval begins
  before.step(1);
  before.progress.seconds += 10;
  before.journal.evaluation(before.progress, {{}, {}, false}, 10, false);
  Notebook after;
  after.progress = before.progress;
  after.journal.load(before.journal.save());
  for (Notebook* notes : {&before, &after}) {
    notes->progress.seconds += 20;
    notes->journal.evaluation(notes->progress, {{}, {}, false}, 20, false);
    notes->step(1);
    notes->journal.training(notes->progress, {}, {});
    CHECK(speed(*notes) == 4);  // 8 examples in 2 of the 32 seconds
  }
  Notebook last;
  last.journal.load(after.journal.save());
  CHECK(speed(last) == 4);
}

TEST_CASE("journal: the first half of a long curve is averaged in pairs") {
  constexpr int most = 4096;
  Notebook notes;
  for (int i = 1; i <= most; ++i) {
    notes.step(i % 2 == 0 ? 3 : 1);
    notes.journal.training(notes.progress, {}, {});
  }
  CHECK(notes.journal.loss_curve().size() == most);
  notes.step(7);
  notes.journal.training(notes.progress, {}, {});
  const auto& curve = notes.journal.loss_curve();
  REQUIRE(curve.size() == most / 2 + 1);
  CHECK(curve.front() == std::pair<double, double>{2, 2});
  CHECK(curve[most / 2 - 1] == std::pair<double, double>{most, 2});
  CHECK(curve.back() == std::pair<double, double>{most + 1, 7});
}
