// The limit: a loop written by hand for one purpose, with everything that is known to be fast and nothing
// else. The data lies in memory as one tensor, nothing is checked, logged or evaluated.
//   benchmark_bare MODEL BATCH STEPS THREADS DATA      prints JSON
#include <ATen/Parallel.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <chrono>
#include <iostream>

#include "benchmarks/datasets.hpp"
#include "components/models/model.hpp"
#include "components/optimizers/optimizer.hpp"
#include "components/optimizers/support/groups.hpp"
#include "runner/engine/process.hpp"

namespace runner {
namespace {

struct Work {
  Splits data;
  testing::Settings model;
  const char* optimizer;
  testing::Settings optimizing;
};

Work work_of(const std::string& model, const std::string& data) {
  if (model == "gpt") {
    return {opened("text", {{"file", data}, {"length", 64}}),
            {{"layers", 4}, {"heads", 4}, {"width", 128}, {"dropout", 0.0}, {"bias", false}},
            "adamw",
            {{"lr", 0.001}, {"weight_decay", 0.1}}};
  }
  Splits images = opened("cifar10", {{"dir", data}, {"transform", Setting::list({normalized()})}});
  if (model == "resnet18") {
    return {std::move(images),
            {{"stem", "cifar"}},
            "sgd",
            {{"lr", 0.1}, {"momentum", 0.9}, {"weight_decay", 5e-4}}};
  }
  if (model == "mlp") return {std::move(images), {{"hidden", Setting::list({128})}}, "adam", {{"lr", 0.001}}};
  return {std::move(images), {}, "adam", {{"lr", 0.001}}};
}

Batch everything(const Split& split, torch::MemoryFormat format) {
  std::vector<SampleRef> samples(static_cast<std::size_t>(split.size()));
  for (std::size_t i = 0; i < samples.size(); ++i) samples[i] = {static_cast<std::int64_t>(i), i};
  Batch batch = split.allocate(split.size(), format);
  split.read(samples, batch, 0);
  return batch;
}

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

void train(const std::string& name, std::int64_t batch_size, std::int64_t steps, const std::string& file) {
  const Work work = work_of(name, file);
  torch::manual_seed(0);
  const std::shared_ptr<Model> model =
      testing::part<ModelKind>(name, work.model).build({work.data.train->spec()});
  model->train();
  const auto format =
      model->prefers_channels_last() ? torch::MemoryFormat::ChannelsLast : torch::MemoryFormat::Contiguous;
  const Batch data = everything(*work.data.train, format);
  std::vector<torch::Tensor> parameters = model->parameters();
  for (auto& parameter : parameters) {
    if (parameter.dim() == 4) parameter.set_data(parameter.contiguous(format));
  }
  const auto optimizer = testing::part<OptimizerKind>(work.optimizer, work.optimizing)
                             .build({make_groups(model->named_parameters(), {})});
  const std::int64_t warm_up = std::min<std::int64_t>(5, steps);
  double first_step = 0, began = 0;
  for (std::int64_t step = 0; step < steps + warm_up; ++step) {
    const auto chosen = torch::randint(data.size(), {batch_size}, torch::kInt64);
    const Batch batch{data.input.index_select(0, chosen), data.target.index_select(0, chosen)};
    auto scores = model->forward(batch);
    auto labels = batch.target;
    if (name == "gpt") {
      scores = scores.flatten(0, 1);
      labels = labels.flatten();
    }
    at::cross_entropy_loss(scores, labels).backward();
    optimizer->step(1.0);
    for (auto& parameter : parameters) parameter.mutable_grad().reset();
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
  if (argc != 6) {
    std::cerr << "usage: benchmark_bare MODEL BATCH STEPS THREADS DATA\n";
    return 2;
  }
  runner::keep_freed_memory();
  at::set_num_threads(std::atoi(argv[4]));
  runner::train(argv[1], std::atoll(argv[2]), std::atoll(argv[3]), argv[5]);
}
