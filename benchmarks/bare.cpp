// The limit: a loop written by hand for one purpose, with everything that is known to be fast and nothing
// else. The data lies in memory as one tensor, nothing is checked, logged or evaluated.
//   benchmark_bare MODEL BATCH STEPS THREADS      prints JSON
#include <ATen/Parallel.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <chrono>
#include <iostream>

#include "components/models/model.hpp"
#include "components/optimizers/groups.hpp"
#include "components/optimizers/optimizer.hpp"
#include "runner/engine/allocator.hpp"
#include "tests/support/parts.hpp"

namespace runner {
namespace {

constexpr std::int64_t images = 10000, tokens = 100000, vocabulary = 65, context = 64;

struct Work {
  DataSpec spec;
  testing::Settings model;
  const char* optimizer;
  testing::Settings optimizing;
};

Work work_of(const std::string& model) {
  if (model == "gpt") {
    DataSpec spec;
    spec.input_shape = spec.target_shape = {context};
    spec.input_type = torch::kInt64;
    spec.classes = spec.vocabulary = vocabulary;
    return {spec,
            {{"layers", 4}, {"heads", 4}, {"width", 128}, {"dropout", 0.0}, {"bias", false}},
            "adamw",
            {{"lr", 0.001}, {"weight_decay", 0.1}}};
  }
  DataSpec spec;
  spec.input_shape = {3, 32, 32};
  spec.classes = 10;
  spec.images = true;
  if (model == "resnet18")
    return {spec, {{"stem", "cifar"}}, "sgd", {{"lr", 0.1}, {"momentum", 0.9}, {"weight_decay", 5e-4}}};
  if (model == "mlp") return {spec, {{"hidden", testing::Setting::list({128})}}, "adam", {{"lr", 0.001}}};
  return {spec, {}, "adam", {{"lr", 0.001}}};
}

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

void train(const std::string& name, std::int64_t batch_size, std::int64_t steps) {
  const Work work = work_of(name);
  torch::manual_seed(0);
  const std::shared_ptr<Model> model = testing::part<ModelKind>(name, work.model).build({work.spec});
  model->train();
  const bool channels_last = model->prefers_channels_last();
  torch::Tensor inputs, targets;
  if (name == "gpt") {
    const auto text = torch::randint(vocabulary, {tokens + context + 1}, torch::kInt64);
    inputs = text.unfold(0, context, 1).narrow(0, 0, tokens);
    targets = text.narrow(0, 1, tokens + context).unfold(0, context, 1).narrow(0, 0, tokens);
  } else {
    inputs = torch::randn({images, 3, 32, 32});
    targets = torch::randint(10, {images}, torch::kInt64);
  }
  if (channels_last) {
    inputs = inputs.contiguous(torch::MemoryFormat::ChannelsLast);
    for (auto& parameter : model->parameters()) {
      if (parameter.dim() == 4) parameter.set_data(parameter.contiguous(torch::MemoryFormat::ChannelsLast));
    }
  }
  const auto optimizer = testing::part<OptimizerKind>(work.optimizer, work.optimizing)
                             .build({make_groups(model->named_parameters(), {})});
  const std::int64_t warm_up = std::min<std::int64_t>(5, steps);
  double first_step = 0, began = 0;
  for (std::int64_t step = 0; step < steps + warm_up; ++step) {
    const auto chosen = torch::randint(inputs.size(0), {batch_size}, torch::kInt64);
    const Batch batch{inputs.index_select(0, chosen), targets.index_select(0, chosen)};
    auto scores = model->forward(batch);
    auto labels = batch.target;
    if (name == "gpt") {
      scores = scores.flatten(0, 1);
      labels = labels.flatten();
    }
    at::cross_entropy_loss(scores, labels).backward();
    optimizer->step(1.0);
    for (auto& parameter : model->parameters()) parameter.mutable_grad().reset();
    if (step == 0) first_step = now();
    if (step + 1 == warm_up) began = now();
  }
  std::cout.precision(15);
  std::cout << "{\"first_step_at\": " << first_step
            << ", \"step_seconds\": " << (now() - began) / static_cast<double>(steps) << "}\n";
}

}  // namespace
}  // namespace runner

int main(int argc, char** argv) {
  if (argc != 5) {
    std::cerr << "usage: benchmark_bare MODEL BATCH STEPS THREADS\n";
    return 2;
  }
  runner::keep_freed_memory();
  at::set_num_threads(std::atoi(argv[4]));
  runner::train(argv[1], std::atoll(argv[2]), std::atoll(argv[3]));
}
