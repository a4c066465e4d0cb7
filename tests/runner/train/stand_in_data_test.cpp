// A run whose data is replaced by stand-in data between two attempts, or the reverse.
#include "components/datasets/dataset.hpp"
#include "runner/train/run_start.hpp"
#include "tests/runner/train/short_runs.hpp"

using namespace runner;
using namespace runner::testing;
using namespace runner::testing::short_runs;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

class EqualExamples final : public Split {
 public:
  std::int64_t size() const override { return 32; }
  DataSpec spec() const override { return {.input_shape = {4}, .classes = 2, .train_examples = size()}; }
  void read(std::span<const ExampleRef> examples, Batch& batch, std::int64_t first) const override {
    const auto count = static_cast<std::int64_t>(examples.size());
    batch.input.narrow(0, first, count).fill_(1);
    batch.target.narrow(0, first, count).fill_(1);
  }
};

bool real_data_is_there = true;

// Has stand-in data of the same size if the real data is not there.
class Replaceable final : public Dataset {
 public:
  DataSpec spec() const override { return EqualExamples().spec(); }
  Splits open(const TransformPipeline&) const override {
    return {.train = std::make_unique<EqualExamples>(),
            .eval = std::make_unique<EqualExamples>(),
            .learned = real_data_is_there ? "{}" : "",
            .stand_in = real_data_is_there ? "" : "The network is down."};
  }
};

struct ReplaceableData {};
constexpr auto describe(std::type_identity<ReplaceableData>) { return fields(); }
std::unique_ptr<Dataset> build(const ReplaceableData&, const DatasetInputs&) {
  return std::make_unique<Replaceable>();
}
const Registration<DatasetKind> replaceable{"replaceable_in_tests", "May be replaced.", &build};

}  // namespace

TEST_CASE("stand-in data takes the place of the real data, or the reverse, only with --force") {
  const bool was_there = GENERATE(true, false);
  const std::vector<std::string> data{"dataset=replaceable_in_tests"};
  Runs runs;
  real_data_is_there = was_there;
  runs.train(data, {.interrupt_at = 4});
  const auto before = contents_of(runs.folder());
  real_data_is_there = !was_there;
  CHECK_THROWS_AS(runs.train(data), UnusableCheckpoint);
  CHECK_THROWS_WITH(runs.train(data), ContainsSubstring("stand-in data") && ContainsSubstring("--force"));
  CHECK(contents_of(runs.folder()) == before);
  CHECK(runs.train(data, {.force = true}).outcome == Outcome::finished);
  CHECK(fs::exists(runs.file("STAND-IN-DATA.txt")) == was_there);
  CHECK(fs::exists(runs.file("dataset.json")) != was_there);
  CHECK(runs.train(data).outcome == Outcome::finished);  // from here on it is the data of the run
  real_data_is_there = true;
}
