// Trains small models on ranks that are threads, with weights that are sharded or not.
#pragma once

#include <torch/utils.h>

#include <catch2/catch_all.hpp>
#include <mutex>

#include "components/hooks/weight_average.hpp"
#include "components/optimizers/groups.hpp"
#include "runner/engine/engine.hpp"
#include "runner/engine/runtime/batch_part.hpp"
#include "tests/support/parts.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/small_data.hpp"

namespace runner::testing::sharded_training {

// The ranks of a test are threads that share one generator of random numbers.
inline std::shared_ptr<Model> make(const std::string& name, const Settings& settings, const DataSpec& data) {
  static std::mutex one_at_a_time;
  const std::scoped_lock lock(one_at_a_time);
  torch::manual_seed(3);
  return part<ModelKind>(name, settings).build({data});
}

using namespace small_data;

inline const Settings tiny{{"layers", 2}, {"heads", 2}, {"width", 8}, {"dropout", 0.0}};

inline Batch examples(const DataSpec& data, std::int64_t first, std::int64_t count) {
  const auto numbers = [&](std::vector<std::int64_t> shape, std::int64_t below) {
    shape.insert(shape.begin(), count);
    const torch::Tensor all = torch::empty(shape);
    const torch::Tensor order = torch::arange(first, first + all.numel(), torch::kInt64).view(shape);
    return below > 0 ? order.mul(7).remainder(below) : order.to(torch::kFloat).mul(0.7).sin();
  };
  Batch batch{numbers(data.input_shape, data.input_type == torch::kInt64 ? 11 : 0),
              numbers(data.target_shape, data.vocabulary > 0 && data.classes == 0 ? 11 : data.classes)};
  if (!data.categories.empty()) batch.extra["categories"] = numbers({2}, 3);
  return batch;
}

// Of any model, whatever its outputs mean.
class Squares final : public Loss {
 public:
  torch::Tensor sum(const torch::Tensor& output, const Batch&) const override {
    return (output.to(torch::kFloat) - 0.3).square().flatten(1).mean(1).sum();
  }
};

struct Case {
  std::string model = "gpt";
  // Gradients of the keys' biases are 0 but for rounding, which some optimizers blow up.
  Settings settings = {{"layers", 2}, {"heads", 2}, {"width", 8}, {"bias", false}};
  DataSpec data = windows;
  std::string optimizer = "adamw";
  std::string precision = "fp32";
  std::optional<double> clip_norm = 0.5;
  // On four ranks one of them gets no example of a batch of 3, and three none of a batch of 1.
  std::vector<std::int64_t> batches = {5, 3, 1};
  DistributedOptions distributed = {};
  int freeze_after = -1;  // steps: the first half of the parameters
  OnOutOfMemory on_full = OnOutOfMemory::stop;
};

inline Case sharded(Case about, std::uint64_t unit_bytes = 2000) {
  about.distributed.strategy = RankStrategy::zero3;
  about.distributed.unit_size = {unit_bytes};
  return about;
}

struct Trained {
  std::vector<double> losses, norms;
  std::map<std::string, torch::Tensor> weights;  // these on rank 0
  State model, optimizer, average;               // what this rank saves; of all ranks once they are joined
};

class Average final : public Stateful {
 public:
  explicit Average(const Weights& weights) : average(weights, WeightAverage::Buffers::left_out) {}
  State save() const override { return {.parts = {{"average", {.tensors = average.tensors()}}}}; }
  void load(const State& state) override { average.load(state.parts.at("average")); }

  WeightAverage average;
};

inline Trained train(World& world, const Case& about, int steps = 3, const Trained* go_on = nullptr) {
  EngineOptions options;
  options.precision = [&](const PrecisionInputs& inputs) {
    return part<PrecisionKind>(about.precision).build(inputs);
  };
  options.clip_norm = about.clip_norm;
  options.distributed = about.distributed;
  options.on_out_of_memory = about.on_full;
  const auto optimizer = part<OptimizerKind>(about.optimizer, {{"lr", 0.01}});
  options.updates_by = optimizer.facts().updates_by;
  options.weights_cast_to = part<PrecisionKind>(about.precision).facts().weights_cast_to;
  Engine engine(options, world);
  engine.prepare(make(about.model, about.settings, about.data), [&](const auto& parameters) {
    auto groups = make_groups(parameters, {});
    for (ParameterGroup& group : groups) {
      const ParameterGroup all = std::exchange(group, {});
      for (std::size_t i = 0; i < all.names.size(); ++i) {
        if (!engine.updates(all.names[i])) continue;
        group.names.push_back(all.names[i]);
        group.parameters.push_back(all.parameters[i]);
      }
    }
    return optimizer.build({groups});
  });
  Average average(engine.weights());
  Stateful& whole_average = engine.as_whole(average);
  if (go_on) {
    engine.weights_state().load(go_on->model);
    engine.optimizer().load(go_on->optimizer);
    whole_average.load(go_on->average);
  }
  const Squares loss;
  Trained result;
  for (int step = 0; step < steps; ++step) {
    const auto names = engine.weights().parameter_names();
    for (std::size_t i = 0; step == about.freeze_after && i < names.size() / 2; ++i)
      engine.set_trainable({{names[i], false}});
    Window window;
    window.seed = static_cast<std::uint64_t>(step);
    for (const std::int64_t size : about.batches) {
      const Batch all = examples(about.data, 100 * step + size, size);
      const std::int64_t begin = size * world.rank() / world.size();
      const std::int64_t end = size * (world.rank() + 1) / world.size();
      window.batches.push_back(part_of(all, begin, end - begin));
    }
    result.losses.push_back(engine.accumulate(window, loss).mean());
    result.norms.push_back(engine.gradient_norm().item<double>());
    engine.update(1);
    average.average.approach(0.5);
  }
  // Ranks predict different numbers of batches, and need each other for it.
  Batch batch = examples(about.data, 7, 2);
  for (int i = 0; i <= world.rank(); ++i) engine.predict(batch);
  engine.finish_passes();
  for (const NamedTensor& weight : engine.full_weights()) result.weights[weight.name] = weight.tensor.clone();
  result.model = engine.weights_state().save().copy();
  result.optimizer = engine.optimizer().save().copy();
  result.average = whole_average.save().copy();
  return result;
}

inline std::vector<Trained> train_each(int ranks, const Case& about, int steps = 3,
                                       const Trained* go_on = nullptr) {
  std::vector<Trained> results(static_cast<std::size_t>(ranks));
  on_ranks(ranks, [&](World& world) {
    results[static_cast<std::size_t>(world.rank())] = train(world, about, steps, go_on);
  });
  return results;
}

// As a checkpoint does: of what several ranks have, the first.
inline void join(State& all, const State& part) {
  all.tensors.insert(part.tensors.begin(), part.tensors.end());
  all.integers.insert(part.integers.begin(), part.integers.end());
  all.numbers.insert(part.numbers.begin(), part.numbers.end());
  for (const auto& [name, inner] : part.parts) join(all.parts[name], inner);
}

inline Trained train_on(int ranks, const Case& about, int steps = 3, const Trained* go_on = nullptr) {
  const std::vector<Trained> results = train_each(ranks, about, steps, go_on);
  Trained all = results[0];
  for (const Trained& each : results) {
    join(all.model, each.model);
    join(all.optimizer, each.optimizer);
    join(all.average, each.average);
  }
  return all;
}

inline Trained train_alone(const Case& about, int steps = 3, const Trained* go_on = nullptr) {
  World alone;
  return train(alone, about, steps, go_on);
}

inline void check_close(const std::map<std::string, torch::Tensor>& one,
                        const std::map<std::string, torch::Tensor>& other, double tolerance = 1e-4) {
  REQUIRE(one.size() == other.size());
  for (const auto& [name, tensor] : one) {
    INFO(name);
    REQUIRE(tensor.sizes() == other.at(name).sizes());
    CHECK(torch::allclose(tensor.to(torch::kDouble), other.at(name).to(torch::kDouble), tolerance,
                          tolerance / 10));
  }
}

inline void check_close(const Trained& one, const Trained& other, double tolerance = 1e-4) {
  for (std::size_t i = 0; i < one.losses.size(); ++i) {
    CHECK_THAT(other.losses[i], Catch::Matchers::WithinRel(one.losses[i], tolerance));
    if (std::isfinite(one.norms[i]))
      CHECK_THAT(other.norms[i], Catch::Matchers::WithinRel(one.norms[i], 10 * tolerance));
  }
  check_close(one.weights, other.weights, tolerance);
  check_close(one.model.tensors, other.model.tensors, tolerance);
  check_close(one.average.parts.at("average").tensors, other.average.parts.at("average").tensors, tolerance);
}

inline bool same_bits(const std::map<std::string, torch::Tensor>& one,
                      const std::map<std::string, torch::Tensor>& other) {
  return std::ranges::all_of(
      one, [&](const auto& entry) { return torch::equal(entry.second, other.at(entry.first)); });
}

}  // namespace runner::testing::sharded_training
