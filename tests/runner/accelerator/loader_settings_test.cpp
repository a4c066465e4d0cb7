// How the batches of a loader are given to ranks: every example once, whatever its batch type.
#include <torch/data.h>
#include <torch/optim/sgd.h>

#include <catch2/catch_all.hpp>

#include "runner/accelerator/accelerator.hpp"
#include "tests/runner/accelerator/small_training.hpp"
#include "tests/support/ranks.hpp"

using namespace runner;
using namespace runner::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

// Examples with a text each, which no tensor can hold.
struct Captions {
  torch::Tensor images;
  std::vector<std::string> texts;
  std::map<std::string, torch::Tensor> more;
};

struct Stacked : torch::data::transforms::Collation<Captions, std::vector<std::int64_t>> {
  Captions apply_batch(std::vector<std::int64_t> numbers) override {
    Captions batch{torch::tensor(numbers).to(torch::kFloat).view({-1, 1}), {}, {}};
    for (const std::int64_t number : numbers) batch.texts.push_back("text " + std::to_string(number));
    batch.more["twice"] = torch::tensor(numbers) * 2;
    return batch;
  }
};

struct Indices : torch::data::datasets::Dataset<Indices, std::int64_t> {
  explicit Indices(std::size_t count_) : count(count_) {}
  std::int64_t get(std::size_t index) override { return static_cast<std::int64_t>(index); }
  std::optional<std::size_t> size() const override { return count; }
  std::size_t count;
};

auto captions(std::size_t count, std::size_t batch_size) {
  return torch::data::make_data_loader<Sequential>(Indices(count).map(Stacked()), batch_size);
}

// A batch per number of the list, from `first` on, of `each` numbers.
MakePass<torch::Tensor> numbers(std::int64_t count, std::int64_t each, int* passes = nullptr) {
  return [=](std::int64_t) {
    if (passes) ++*passes;
    return [=, first = std::int64_t{0}]() mutable -> std::optional<torch::Tensor> {
      if (first >= count) return std::nullopt;
      const std::int64_t begin = std::exchange(first, std::min(first + each, count));
      return torch::arange(begin, first, torch::kFloat).view({-1, 1});
    };
  };
}

std::vector<std::int64_t> sizes_of(PreparedLoader<torch::Tensor>& loader) {
  std::vector<std::int64_t> sizes;
  for (const torch::Tensor& batch : loader) sizes.push_back(batch.size(0));
  return sizes;
}

}  // namespace

TEST_CASE("loaders: texts of a batch follow its rows", "[accelerator][ranks]") {
  const int ranks = GENERATE(1, 2, 3);
  const std::size_t examples = GENERATE(12, 13, 1);
  const bool dispatch = GENERATE(false, true);
  on_ranks(ranks, [&](World& world) {
    Accelerator accelerator(world, {.device = "cpu"});
    auto loader = accelerator.prepare_loader(captions(examples, 3), {.dispatch_batches = dispatch});
    std::vector<std::string> texts;
    for (Captions& batch : loader) {
      require(rows_of(batch) == batch.images.size(0), "as many texts as images");
      for (std::size_t i = 0; i < batch.texts.size(); ++i) {
        const auto row = static_cast<std::int64_t>(i);
        const auto number = batch.images[row][0].item<std::int64_t>();
        require(batch.texts[i] == "text " + std::to_string(number), "the text of the image");
        require(batch.more.at("twice")[row].item<std::int64_t>() == 2 * number, "the entry of a map");
      }
      for (const std::string& text : accelerator.gather_for_metrics(batch.texts)) texts.push_back(text);
    }
    require(texts.size() == examples, "each text once");
    for (std::size_t i = 0; i < texts.size(); ++i)
      require(texts[i] == "text " + std::to_string(i), "in the order of the loader");
  });
}

TEST_CASE("loaders: members that say of no example what they belong to are refused", "[accelerator]") {
  struct WithEpoch {
    torch::Tensor images;
    int epoch = 0;
  };
  static_assert(HasRows<Captions> && !HasRows<WithEpoch>);
  CHECK_THROWS_WITH(rows_of(Captions{torch::zeros({2, 1}), {"one"}, {}}),
                    ContainsSubstring("different numbers of rows: 2 and 1"));
  CHECK_THROWS_WITH(rows_of(Captions{torch::tensor(1), {}, {}}), ContainsSubstring("a single number"));
}

TEST_CASE("loaders: examples that remain are divided, repeated or dropped", "[accelerator][ranks]") {
  const auto sizes = [](int ranks, std::int64_t count, std::int64_t each, const LoaderSettings& settings) {
    std::vector<std::vector<std::int64_t>> of_ranks(static_cast<std::size_t>(ranks));
    on_ranks(ranks, [&](World& world) {
      Accelerator accelerator(world, {.device = "cpu"});
      auto loader = accelerator.prepare_batches<torch::Tensor>(numbers(count, each), settings);
      of_ranks[static_cast<std::size_t>(world.rank())] = sizes_of(loader);
    });
    return of_ranks;
  };
  using Sizes = std::vector<std::vector<std::int64_t>>;
  CHECK(sizes(2, 7, 2, {}) == Sizes{{2, 1}, {2, 2}});
  CHECK(sizes(2, 3, 1, {}) == Sizes{{1, 1}, {1, 1}});  // one of the last two is not counted
  CHECK(sizes(2, 7, 2, {.even_batches = true}) == Sizes{{2, 2}, {2, 2}});
  CHECK(sizes(2, 3, 1, {.even_batches = true}) == Sizes{{1, 1}, {1, 1}});
  CHECK(sizes(2, 12, 4, {.split_batches = true}) == Sizes{{2, 2, 2}, {2, 2, 2}});
  CHECK(sizes(3, 9, 4, {.split_batches = true}) == Sizes{{1, 1, 1}, {1, 1, 1}, {2, 2, 1}});
}

TEST_CASE("loaders: drop_last gives ranks equally many full batches", "[accelerator][ranks]") {
  const int ranks = GENERATE(1, 2, 3);
  on_ranks(ranks, [&](World& world) {
    Accelerator accelerator(world, {.device = "cpu"});
    const auto options = torch::data::DataLoaderOptions(5).drop_last(true);
    auto loader = accelerator.prepare(torch::data::make_data_loader<Sequential>(
        Numbers(static_cast<std::size_t>(10 * world.size() + 6)).map(torch::data::transforms::Stack<>()),
        options));
    std::int64_t batches = 0;
    for (auto& batch : loader) {
      require(batch.data.size(0) == 5, "full batches");
      require(accelerator.gather_for_metrics(batch.data).size(0) == 5 * world.size(), "of all ranks");
      ++batches;
    }
    require(batches == (world.size() == 1 ? 3 : 2), "those that fill one batch of every rank");
    require(loader.size() == batches, "size() knows");
    const Splits data = accelerator.open_dataset(
        {"synthetic", {{"shape", PartSetting::list({4})}, {"train", 22}, {"eval", 4}}});
    auto split = accelerator.prepare_split(*data.train, {.batch_size = 3, .drop_last = true});
    std::int64_t given = 0;
    for (Batch& batch : split) given += rows_of(batch);
    require(given == 22 / (3 * world.size()) * 3, "of a runner dataset, too");
    require(split.size() == 22 / (3 * world.size()), "size() of a runner dataset");
  });
}

TEST_CASE("loaders: an example that remains counts once in training", "[accelerator][ranks]") {
  const std::size_t examples = GENERATE(14, 13, 7);  // the last batches: 2 of 6, 1 of 6, 1 of 6
  const bool by_torch = GENERATE(true, false);
  const auto train = [&](World& world) {
    torch::nn::Linear model = model_of_test();
    torch::optim::SGD sgd(model->parameters(), 0.1);
    Accelerator accelerator(world, {.device = "cpu"});
    const std::int64_t each = 6 / world.size();
    auto [prepared, optimizer] = accelerator.prepare(model, sgd);
    const auto step = [&, &optimizer_ = optimizer](const torch::Tensor& input) {
      const torch::Tensor target = input.narrow(1, 1, 2).sum(1, /*keepdim=*/true);
      accelerator.backward(torch::mse_loss(model(input * torch::tensor({0.01f, 1.0f, 1.0f})), target));
      optimizer_.step();
      optimizer_.zero_grad();
    };
    if (by_torch) {
      auto loader = accelerator.prepare(loader_of<Sequential>(examples, static_cast<std::size_t>(each)));
      for (auto& batch : loader) step(batch.data);
    } else {
      const Splits data = accelerator.open_dataset(
          {"synthetic",
           {{"shape", PartSetting::list({3})}, {"train", static_cast<std::int64_t>(examples)}, {"eval", 4}}});
      auto loader = accelerator.prepare_split(*data.train, {.batch_size = each});
      for (Batch& batch : loader) step(batch.input);
    }
    return weights_of(*model);
  };
  World alone;
  const torch::Tensor expected = train(alone);
  on_ranks(GENERATE(2, 3), [&](World& world) {
    require(torch::allclose(train(world), expected, 1e-4, 1e-6), "the weights of one rank");
  });
}

TEST_CASE("loaders: only rank 0 reads what is dispatched", "[accelerator][ranks]") {
  const int ranks = GENERATE(1, 2, 3);
  const bool split = GENERATE(false, true);
  on_ranks(ranks, [&](World& world) {
    Accelerator accelerator(world,
                            {.device = "cpu", .loaders = {.split_batches = split, .dispatch_batches = true}});
    int passes = 0;
    auto loader = accelerator.prepare_batches<torch::Tensor>(numbers(14, 4, &passes));
    for (int pass = 0; pass < 2; ++pass) {
      std::vector<torch::Tensor> seen;
      for (const torch::Tensor& batch : loader) seen.push_back(accelerator.gather_for_metrics(batch));
      require(torch::equal(torch::cat(seen), torch::arange(14, torch::kFloat).view({-1, 1})),
              "every example once, in order");
    }
    require(passes == (world.is_main() ? 2 : 0), "who reads");
  });
}

TEST_CASE("loaders: a batch that rank 0 cannot read is an error of every rank", "[accelerator][ranks]") {
  const auto errors = try_on_ranks(2, [](World& world) {
    Accelerator accelerator(world, {.device = "cpu"});
    auto loader = accelerator.prepare_batches<torch::Tensor>(
        [](std::int64_t) {
          return []() -> std::optional<torch::Tensor> { throw std::runtime_error("the tape is torn"); };
        },
        LoaderSettings{.dispatch_batches = true});
    for ([[maybe_unused]] const torch::Tensor& batch : loader) {
    }
  });
  CHECK_THAT(message_of(errors[0]), ContainsSubstring("the tape is torn"));
  CHECK_THAT(message_of(errors[1]), ContainsSubstring("the tape is torn"));
}

TEST_CASE("loaders: size, epoch and end of a pass", "[accelerator]") {
  World alone;
  Accelerator accelerator(alone, {.device = "cpu"});
  auto known = accelerator.prepare(loader_of<Random>(10, 3));
  CHECK(known.size() == 4);
  auto counted = accelerator.prepare_batches<torch::Tensor>(numbers(10, 3));
  CHECK_FALSE(counted.size());
  CHECK(counted.end_of_loader());
  std::vector<bool> ends;
  for ([[maybe_unused]] const torch::Tensor& batch : counted) ends.push_back(counted.end_of_loader());
  CHECK(ends == std::vector{false, false, false, true});
  CHECK(counted.size() == 4);
  const auto order = [&](std::int64_t epoch) {
    known.set_epoch(epoch);
    std::vector<torch::Tensor> seen;
    for (auto& batch : known) seen.push_back(batch.data);
    return torch::cat(seen);
  };
  const torch::Tensor third = order(3);
  CHECK_FALSE(torch::equal(order(0), third));
  CHECK(torch::equal(order(3), third));
  CHECK_THROWS_WITH(accelerator.prepare_split(*accelerator.open_dataset({"synthetic"}).train,
                                              {.loaders = LoaderSettings{.dispatch_batches = true}}),
                    ContainsSubstring("no effect on a runner dataset"));
}
