// The loaders of a user's own training loop: every example once, and nothing is read in vain.
#include "runner/accelerator/prepared_loader.hpp"

#include <torch/data.h>

#include <atomic>
#include <catch2/catch_all.hpp>

#include "runner/accelerator/accelerator.hpp"
#include "tests/runner/accelerator/small_training.hpp"
#include "tests/support/ranks.hpp"

using namespace runner;
using namespace runner::testing;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("accelerator: gather_for_metrics gives every example once, in order", "[accelerator][ranks]") {
  const int ranks = GENERATE(1, 2, 3, 4);
  const std::size_t examples = GENERATE(10, 12, 13, 1);
  on_ranks(ranks, [&](World& world) {
    Accelerator accelerator(world, {.device = "cpu"});
    auto loader = accelerator.prepare(loader_of<Sequential>(examples, 3));
    std::vector<float> seen;
    for (auto& batch : loader) {
      const auto [data, target] = accelerator.gather_for_metrics(batch.data, batch.target);
      if (data.size(0) != target.size(0)) throw std::runtime_error("rows differ");
      for (std::int64_t i = 0; i < data.size(0); ++i) seen.push_back(data[i][0].template item<float>());
    }
    std::vector<float> expected(examples);
    for (std::size_t i = 0; i < examples; ++i) expected[i] = static_cast<float>(i);
    if (seen != expected) throw std::runtime_error("not every example exactly once");
  });
}

TEST_CASE("accelerator: a runner dataset in shares, every example once", "[accelerator][ranks]") {
  const int ranks = GENERATE(1, 2, 3);
  on_ranks(ranks, [&](World& world) {
    Accelerator accelerator(world, {.device = "cpu"});
    const Splits data = accelerator.open_dataset(
        {"synthetic", {{"shape", PartSetting::list({4})}, {"train", 22}, {"eval", 4}}});
    auto loader = accelerator.prepare_split(*data.train, {.batch_size = 3, .shuffle = true});
    torch::Tensor first;
    for (int pass = 0; pass < 2; ++pass) {
      std::vector<torch::Tensor> seen;
      for (Batch& batch : loader) seen.push_back(accelerator.gather_for_metrics(batch.input));
      const torch::Tensor all = torch::cat(seen), sorted = std::get<0>(torch::sort(all.select(1, 0)));
      if (all.size(0) != 22) throw std::runtime_error("not 22 examples");
      if (pass == 1 && !torch::equal(sorted, std::get<0>(torch::sort(first.select(1, 0)))))
        throw std::runtime_error("other examples in the second pass");
      if (pass == 1 && torch::equal(all, first)) throw std::runtime_error("not shuffled anew");
      first = all;
    }
  });
}

TEST_CASE("accelerator: a loader reads ahead only where micro-batches are accumulated", "[accelerator]") {
  World alone;
  Accelerator accelerator(alone, {.accumulation_steps = 4, .device = "cpu"});
  auto loader = accelerator.prepare(loader_of<Sequential>(20, 2));
  Numbers::read = 0;
  {
    auto pass = loader.begin();
    CHECK(Numbers::read == 4);  // a batch of 2, and one that LibTorch itself reads ahead
    const auto accumulating = accelerator.accumulate();
    CHECK(Numbers::read == 10);
  }
}

TEST_CASE("accelerator: a pass with workers may be left early, and the next one is complete",
          "[accelerator]") {
  World alone;
  Accelerator accelerator(alone, {.device = "cpu"});
  auto loader = accelerator.prepare(
      torch::data::make_data_loader<Sequential>(Numbers(20).map(torch::data::transforms::Stack<>()),
                                                torch::data::DataLoaderOptions().batch_size(2).workers(2)));
  for (auto& batch : loader) {
    CHECK(batch.data[0][0].template item<float>() == 0);
    break;
  }
  std::vector<float> firsts;
  for (auto& batch : accelerator.skip_first_batches(loader, 8))
    firsts.push_back(batch.data[0][0].template item<float>());
  CHECK(firsts == std::vector<float>{16, 18});
}

namespace {

class Counted : public Split {
 public:
  std::int64_t size() const override { return 4; }
  DataSpec spec() const override {
    DataSpec data;
    data.input_shape = {1};
    return data;
  }
  void read(std::span<const ExampleRef> examples, Batch& batch, std::int64_t first) const override {
    if (broken) throw DataError("it cannot be read.");
    for (const ExampleRef& example : examples) batch.input[first++].fill_(static_cast<double>(example.index));
    read_so_far += static_cast<std::int64_t>(examples.size());
  }

  mutable std::atomic<std::int64_t> read_so_far = 0;
  bool broken = false;
};

}  // namespace

TEST_CASE("accelerator: workers read nothing that no pass asks for", "[accelerator]") {
  const Counted data;
  World alone;
  {
    Accelerator accelerator(alone, {.device = "cpu"});
    auto loader = accelerator.prepare_split(data, {.batch_size = 2, .workers = 1});
    std::int64_t batches = 0;
    for (int pass = 0; pass < 3; ++pass)
      for (const Batch& batch : loader) batches += batch.size() == 2 ? 1 : 0;
    CHECK(batches == 6);
  }
  CHECK(data.read_so_far == 12);
}

TEST_CASE("accelerator: a pass whose first example cannot be read is no pass", "[accelerator]") {
  Counted data;
  World alone;
  Accelerator accelerator(alone, {.device = "cpu"});
  auto loader = accelerator.prepare_split(data, {.batch_size = 2});
  data.broken = true;
  CHECK_THROWS_WITH(loader.begin(), ContainsSubstring("cannot be read"));
  // Would ask the pass how many of the rows are repeated.
  CHECK(accelerator.gather_for_metrics(torch::zeros({7})).size(0) == 7);
  data.broken = false;
  std::int64_t examples = 0;
  for (const Batch& batch : loader) examples += batch.size();
  CHECK(examples == 4);
}
