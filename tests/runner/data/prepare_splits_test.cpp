#include "runner/data/prepare_splits.hpp"

#include <catch2/catch_all.hpp>
#include <set>

#include "components/datasets/selection.hpp"
#include "tests/support/datasets.hpp"

namespace runner::testing {
namespace {

using Catch::Matchers::ContainsSubstring;

Splits prepared(const std::string& name, const Settings& settings) {
  const auto described = part<DatasetKind>(name, settings);
  return prepare_splits(*described.build({0}), {described.common, {}});
}

std::set<std::int64_t> bytes_of(const Split& split) {  // an image, by the sum of its pixels
  std::set<std::int64_t> sums;
  for (std::int64_t i = 0; i < split.size(); ++i)
    sums.insert(std::llround(read(split, {i}).input.to(torch::kFloat64).sum().item<double>() * 1e6));
  return sums;
}

TEST_CASE("validation takes examples out of the training set, the same share of each class") {
  const Settings plain{{"train", 200}, {"eval", 40}};
  Settings with = plain;
  with.emplace_back("validation", 0.1);
  const Splits all = prepared("shapes", plain), split = prepared("shapes", with);
  CHECK(split.train->size() == 180);
  REQUIRE(split.eval->size() == 20);
  for (const std::int64_t count : class_counts(*split.eval, 10)) CHECK(count >= 1);
  const auto whole = bytes_of(*all.train), train = bytes_of(*split.train), eval = bytes_of(*split.eval);
  CHECK(std::ranges::includes(whole, eval));
  std::vector<std::int64_t> both;
  std::ranges::set_intersection(train, eval, std::back_inserter(both));
  CHECK(both.empty());
  with.emplace_back("example_seed", 2);
  CHECK(bytes_of(*prepared("shapes", with).eval) != eval);
}

TEST_CASE("a validation set is read as an evaluation set: without augmentation") {
  const auto erase = Setting::list({Setting::table({{"name", "random_erasing"}, {"p", 1.0}})});
  const Splits split =
      prepared("shapes", {{"train", 100}, {"eval", 10}, {"validation", 0.2}, {"transform", erase}});
  const auto once = [](const Split& from, std::uint64_t seed) {
    Batch batch = from.allocate(1, torch::MemoryFormat::Contiguous);
    const ExampleRef sample{0, seed};
    from.read({&sample, 1}, batch, 0);
    return batch.input.clone();
  };
  CHECK(torch::equal(once(*split.eval, 1), once(*split.eval, 2)));
  CHECK_FALSE(torch::equal(once(*split.train, 1), once(*split.train, 2)));
}

TEST_CASE("limits leave a sample with all classes") {
  const Splits split =
      prepared("shapes", {{"train", 500}, {"eval", 200}, {"train_limit", 50}, {"eval_limit", 20}});
  CHECK(split.train->size() == 50);
  CHECK(split.eval->size() == 20);
  for (const Split* part : {split.train.get(), split.eval.get()}) {
    for (const std::int64_t count : class_counts(*part, 10)) CHECK(count >= 1);
  }
  CHECK_THROWS_WITH(part<DatasetKind>("shapes", {{"example_seed", 3}}), ContainsSubstring("has no effect"));
}

TEST_CASE("a share that leaves nothing is refused") {
  CHECK_THROWS_WITH(prepared("shapes", {{"train", 3}, {"eval", 1}, {"validation", 0.1}}),
                    ContainsSubstring("dataset.validation"));
}

}  // namespace
}  // namespace runner::testing
