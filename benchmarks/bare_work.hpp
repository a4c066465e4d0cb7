// What the loops written by hand train: the model, its optimizer, and all of its data in memory as one
// tensor.
#pragma once

#include <ATen/ops/cross_entropy_loss.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <chrono>
#include <iostream>

#include "benchmarks/datasets.hpp"
#include "components/models/model.hpp"
#include "components/optimizers/groups.hpp"
#include "components/optimizers/optimizer.hpp"

namespace runner {

struct Work {
  Splits data;
  testing::Settings model;
  const char* optimizer;
  testing::Settings optimizing;
};

inline Work work_of(const std::string& model, const std::string& data) {
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

inline Batch everything(const Split& split, torch::MemoryFormat format) {
  std::vector<ExampleRef> examples(static_cast<std::size_t>(split.size()));
  for (std::size_t i = 0; i < examples.size(); ++i) examples[i] = {static_cast<std::int64_t>(i), i};
  Batch batch = split.allocate(split.size(), format);
  split.read(examples, batch, 0);
  return batch;
}

// A model ready to train, in the layout that is fastest for it, with all of its data.
struct BareTraining {
  BareTraining(const std::string& name, const std::string& file) : name_(name) {
    const Work work = work_of(name, file);
    torch::manual_seed(0);
    model = testing::part<ModelKind>(name, work.model).build({work.data.train->spec()});
    model->train();
    const auto format =
        model->prefers_channels_last() ? torch::MemoryFormat::ChannelsLast : torch::MemoryFormat::Contiguous;
    data = everything(*work.data.train, format);
    parameters = model->parameters();
    for (auto& parameter : parameters) {
      if (parameter.dim() == 4) parameter.set_data(parameter.contiguous(format));
    }
    optimizer = testing::part<OptimizerKind>(work.optimizer, work.optimizing)
                    .build({make_groups(model->named_parameters(), {})});
  }

  torch::Tensor loss_of_some(std::int64_t count) const {
    const auto chosen = torch::randint(data.size(), {count}, torch::kInt64);
    const Batch batch{data.input.index_select(0, chosen), data.target.index_select(0, chosen)};
    auto scores = model->forward(batch);
    auto labels = batch.target;
    if (name_ == "gpt") {
      scores = scores.flatten(0, 1);
      labels = labels.flatten();
    }
    return at::cross_entropy_loss(scores, labels);
  }

  std::shared_ptr<Model> model;
  std::unique_ptr<Optimizer> optimizer;
  std::vector<torch::Tensor> parameters;
  Batch data;

 private:
  std::string name_;
};

// Calls `step` so often after a few to warm up, and prints how long one takes, as JSON.
template <class Step>
void time_steps(std::int64_t steps, bool shown, const Step& step) {
  const auto now = [] {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  };
  const std::int64_t warm_up = std::min<std::int64_t>(5, steps);
  double first_step = 0, began = 0;
  for (std::int64_t done = 0; done < steps + warm_up; ++done) {
    step();
    if (done == 0) first_step = now();
    if (done + 1 == warm_up) began = now();
  }
  if (!shown) return;
  std::cout.precision(15);
  std::cout << "{\"first_step_at\": " << first_step
            << ", \"step_seconds\": " << (now() - began) / static_cast<double>(steps) << "}\n";
}

}  // namespace runner
