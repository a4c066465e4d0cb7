#include "runner/engine/engine.hpp"

#include <c10/util/Exception.h>

#include <catch2/catch_all.hpp>

#include "registry/base/log.hpp"
#include "runner/engine/runtime/out_of_memory.hpp"
#include "tests/support/parts.hpp"
#include "tests/support/quiet.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/small_model.hpp"

using namespace runner;
using namespace runner::testing;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinRel;

namespace {

// As if memory held so many examples and no more.
class Cramped : public SmallModel {
 public:
  explicit Cramped(std::int64_t most) : SmallModel({1, 2, 3}), most_(most) {}

  torch::Tensor forward(const Batch& batch) override {
    sizes.push_back(batch.size());
    if (batch.size() > most_)
      throw c10::OutOfMemoryError({__func__, __FILE__, __LINE__}, "no room\nbacktrace");
    return SmallModel::forward(batch);
  }

  std::vector<std::int64_t> sizes;

 private:
  std::int64_t most_;
};

Engine engine_for(const std::shared_ptr<Model>& model, OnOutOfMemory on_full) {
  static World alone;
  EngineOptions options;
  options.on_out_of_memory = on_full;
  options.precision = [](const PrecisionInputs& inputs) { return part<PrecisionKind>("fp32").build(inputs); };
  Engine engine(options, alone);
  engine.prepare(model);
  return engine;
}

Batch examples(std::int64_t count, std::int64_t from) {
  const torch::Tensor input = torch::arange(from, from + 3 * count, torch::kFloat).reshape({count, 3}) / 10;
  return {input, input.roll(1, 1)};
}

const auto mse = [] { return part<LossKind>("mse").build({}); };

// The squares of the outputs, added up to a tensor of so many dimensions.
class SumOf final : public Loss {
 public:
  explicit SumOf(std::int64_t dimensions) : dimensions_(dimensions) {}
  torch::Tensor sum(const torch::Tensor& output, const Batch&) const override {
    const torch::Tensor squares = output.square();
    if (dimensions_ == 2) return squares;
    return dimensions_ == 1 ? squares.sum().reshape({1}) : squares.sum();
  }

 private:
  std::int64_t dimensions_;
};

}  // namespace

TEST_CASE("engine: where memory runs out, smaller micro-batches give the same loss and gradients") {
  const Quiet quiet;
  const Window window{{examples(10, 0), examples(7, 5)}};
  const auto roomy = std::make_shared<Cramped>(100), cramped = std::make_shared<Cramped>(3);
  Engine reference = engine_for(roomy, OnOutOfMemory::stop),
         engine = engine_for(cramped, OnOutOfMemory::split);
  const auto expected = reference.accumulate(window, *mse()), found = engine.accumulate(window, *mse());
  CHECK_THAT(found.mean(), WithinRel(expected.mean(), 1e-6));
  CHECK(torch::allclose(cramped->weight.grad(), roomy->weight.grad(), 1e-5));
  CHECK(torch::allclose(cramped->bias.grad(), roomy->bias.grad(), 1e-5));
  CHECK(cramped->sizes == std::vector<std::int64_t>{10, 5, 2, 3, 2, 3, 2, 2, 3});

  REQUIRE(log::warnings().size() == 2);
  CHECK_THAT(log::warnings()[1],
             ContainsSubstring("5 examples at once do not fit") && ContainsSubstring("3"));
  engine.discard_gradients();
  cramped->sizes.clear();
  engine.accumulate({{examples(4, 0)}}, *mse());             // it stays with what fits
  CHECK(cramped->sizes == std::vector<std::int64_t>{2, 2});  // batch norm refuses a rest of one
}

TEST_CASE("engine: memory that runs out in the middle leaves nothing of the first attempt behind") {
  const Quiet quiet;
  const Window window{{examples(2, 0), examples(6, 5)}};  // the first fits, the second does not
  const auto roomy = std::make_shared<Cramped>(100), cramped = std::make_shared<Cramped>(4);
  Engine reference = engine_for(roomy, OnOutOfMemory::stop),
         engine = engine_for(cramped, OnOutOfMemory::split);
  reference.accumulate(window, *mse());
  engine.accumulate(window, *mse());
  CHECK(torch::allclose(cramped->weight.grad(), roomy->weight.grad(), 1e-5));
}

// A layer that draws random numbers and remembers what it has seen, as dropout and batch-norm do.
class Forgetful : public Cramped {
 public:
  using Cramped::Cramped;

  torch::Tensor forward(const Batch& batch) override {
    drawn.push_back(torch::rand({1}).item<double>());
    const torch::NoGradGuard no_grad;
    count += batch.size();
    const torch::AutoGradMode with_gradients(true);
    return Cramped::forward(batch);
  }

  std::vector<double> drawn;
};

TEST_CASE("engine: an update that ran out of memory is repeated from where it began") {
  const Quiet quiet;
  const std::optional<std::uint64_t> seed = GENERATE(std::optional<std::uint64_t>(7), std::nullopt);
  const Window window{{examples(4, 0)}, seed};
  const auto model = std::make_shared<Forgetful>(3);
  Engine engine = engine_for(model, OnOutOfMemory::split);
  engine.accumulate(window, *mse());
  REQUIRE(model->drawn.size() == 3);          // the attempt that failed, then two halves
  CHECK(model->drawn[0] == model->drawn[1]);  // the same random numbers
  CHECK(model->count.item<std::int64_t>() == 4);
}

// A precision with state that moves in every forward pass, as the magnitudes of fp8 do.
class CountingPrecision final : public Precision {
 public:
  std::unique_ptr<Scope> forward() override {
    ++passes_;
    return Precision::forward();
  }
  std::string summary() const override { return "counts its passes"; }
  State save() const override { return {.integers = {{"passes", passes_}}}; }
  void load(const State& state) override { passes_ = StateReader(state).integer("passes"); }

 private:
  std::int64_t passes_ = 0;
};

TEST_CASE("engine: a pass that ran out of memory leaves no trace in the precision") {
  const Quiet quiet;
  static World alone;
  EngineOptions options;
  options.on_out_of_memory = OnOutOfMemory::split;
  options.precision = [](const PrecisionInputs&) { return std::make_unique<CountingPrecision>(); };
  Engine engine(options, alone);
  engine.prepare(std::make_shared<Cramped>(3));
  engine.accumulate({{examples(4, 0)}}, *mse());
  CHECK(engine.precision().save().integers.at("passes") == 2);  // two halves, not the attempt that failed
}

TEST_CASE("engine: a loop by hand gives the gradients of accumulate(), and is held to what it announced") {
  const auto whole = std::make_shared<SmallModel>(std::vector<float>{1, 2, 3});
  const auto by_hand = std::make_shared<SmallModel>(std::vector<float>{1, 2, 3});
  Engine first = engine_for(whole, OnOutOfMemory::stop), second = engine_for(by_hand, OnOutOfMemory::stop);
  const Window window{{examples(10, 0), examples(7, 5)}};
  const auto loss = mse();
  first.accumulate(window, *loss);
  second.begin_window(17 * 3, 2);
  for (const Batch& batch : window.batches) second.backward(loss->sum(second.forward(batch), batch));
  CHECK(torch::equal(whole->weight.grad(), by_hand->weight.grad()));
  CHECK_THROWS_WITH(second.backward(by_hand->weight.sum()), ContainsSubstring("more often"));
}

TEST_CASE("engine: counts the parameters of the model, and those that are trained") {
  Engine engine = engine_for(std::make_shared<SmallModel>(std::vector<float>{1, 2, 3}), OnOutOfMemory::stop);
  CHECK(engine.parameter_counts().total == 4);
  CHECK(engine.parameter_counts().trained == 4);
  engine.set_trainable({{"bias", false}});
  CHECK(engine.parameter_counts().total == 4);
  CHECK(engine.parameter_counts().trained == 3);
}

TEST_CASE("engine: what it remembers goes into a fresh one") {
  const Quiet quiet;
  const auto model = std::make_shared<Cramped>(3), other = std::make_shared<Cramped>(3);
  Engine engine = engine_for(model, OnOutOfMemory::split), fresh = engine_for(other, OnOutOfMemory::split);
  engine.accumulate({{examples(4, 0)}}, *mse());
  engine.discard_gradients();
  engine.set_trainable({{"bias", false}});
  fresh.load(engine.save());
  other->sizes.clear();
  fresh.accumulate({{examples(4, 0)}}, *mse());
  CHECK(other->sizes == std::vector<std::int64_t>{2, 2});
  CHECK_FALSE(other->bias.grad().defined());
  State strange = engine.save();
  strange.integers["speed"] = 3;
  CHECK_THROWS_WITH(fresh.load(strange), ContainsSubstring("\"speed\""));
}

TEST_CASE("engine: a run that must not split says what would help") {
  Engine engine = engine_for(std::make_shared<Cramped>(3), OnOutOfMemory::stop);
  CHECK_THROWS_WITH(engine.accumulate({{examples(10, 0)}}, *mse()),
                    ContainsSubstring("10 examples at once") && ContainsSubstring("on_out_of_memory") &&
                        ContainsSubstring("no room") && !ContainsSubstring("backtrace"));
  const Quiet quiet;
  Engine hopeless = engine_for(std::make_shared<Cramped>(0), OnOutOfMemory::split);
  CHECK_THROWS_WITH(hopeless.accumulate({{examples(4, 0)}}, *mse()),
                    ContainsSubstring("Not even one example"));
}

TEST_CASE("engine: the ways in which memory runs out are known, other errors are not touched") {
  CHECK(is_out_of_memory(std::bad_alloc()));
  // Innocent: it quotes what happened to another rank.
  CHECK_FALSE(is_out_of_memory(RankError("Rank 0 stopped: rank 1 failed at step 3: CUDA out of memory.")));
  CHECK_FALSE(is_out_of_memory(std::runtime_error("shapes do not fit")));
  try {
    torch::empty({std::int64_t{1} << 60}, torch::kChar);  // more than any machine has
    FAIL("an exabyte was allocated");
  } catch (const std::exception& error) {
    CHECK(is_out_of_memory(error));
  }
}

TEST_CASE("engine: swapped weights are in the model for a while; then its own are again, and its buffers") {
  const auto model = std::make_shared<SmallModel>(std::vector<float>{1, 2, 3});
  Engine engine = engine_for(model, OnOutOfMemory::stop);
  {
    const SwappedWeights swapped =
        engine.swap_weights({{"weight", torch::full({3}, 7.0)}, {"mean", torch::full({1}, 5.0)}});
    CHECK(model->weight.eq(7).all().item<bool>());
    CHECK(model->mean.item<double>() == 5);
    CHECK(model->bias.eq(0).all().item<bool>());
    const torch::NoGradGuard no_grad;
    model->count += 4;  // as a pass in training mode does
  }
  CHECK(torch::equal(model->weight.detach(), torch::tensor({1.0F, 2.0F, 3.0F})));
  CHECK(model->mean.item<double>() == 0);
  CHECK(model->count.item<std::int64_t>() == 0);
  CHECK(model->weight.requires_grad());
}

TEST_CASE("engine: a window of ignored targets has no loss and no gradient, not NaN") {
  DataSpec data;
  data.classes = 3;
  const auto model = std::make_shared<SmallModel>(std::vector<float>{1, 2, 3});
  Engine engine = engine_for(model, OnOutOfMemory::stop);
  const auto loss = part<LossKind>("cross_entropy", {{"ignore_index", -100}}).build({data});
  const Batch batch{torch::ones({4, 3}), torch::full({4}, -100, torch::kInt64)};
  CHECK(engine.accumulate({{batch, batch}}, *loss).mean() == 0);
  CHECK(model->weight.grad().isfinite().all().item<bool>());
  CHECK(model->weight.grad().abs().sum().item<double>() == 0);
}

TEST_CASE("engine: parameters are frozen and trained again by pattern, but not all of them") {
  const auto model = std::make_shared<SmallModel>(std::vector<float>{1, 2, 3});
  model->bias.set_requires_grad(false);  // as model.freeze does: never trained
  Engine only_weight = engine_for(model, OnOutOfMemory::stop);
  only_weight.set_trainable({{"bias", true}});
  CHECK_FALSE(model->bias.requires_grad());

  model->bias.set_requires_grad(true);
  Engine engine = engine_for(model, OnOutOfMemory::stop);
  engine.set_trainable({{"we*", false}});
  engine.accumulate({{examples(4, 0)}}, *mse());
  CHECK_FALSE(model->weight.grad().defined());
  CHECK(model->bias.grad().defined());
  engine.discard_gradients();
  engine.set_trainable({{"bias", false}, {"weight", true}});  // as a whole, something is left
  CHECK_THROWS_WITH(engine.set_trainable({{"*", false}}), ContainsSubstring("nothing is left to train"));
}

TEST_CASE("engine: a loss is one number, on any number of ranks", "[ranks]") {
  on_ranks(GENERATE(1, 2), [](World& world) {
    EngineOptions options;
    options.precision = [](const PrecisionInputs& inputs) {
      return part<PrecisionKind>("fp32").build(inputs);
    };
    Engine engine(options, world);
    engine.prepare(std::make_shared<SmallModel>(std::vector<float>{1, 2, 3}));
    const Window window{{examples(4, 0)}};
    const double expected = engine.accumulate(window, SumOf(0)).mean();
    require(engine.accumulate(window, SumOf(1)).mean() == expected, "a tensor of one element is a number");
    std::string said;
    try {
      engine.accumulate(window, SumOf(2));
    } catch (const std::runtime_error& error) {
      said = error.what();
    }
    require(said.starts_with("The loss gives a tensor of shape [4, 3] for a batch of 4 examples"), said);
  });
}
