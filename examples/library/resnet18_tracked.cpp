// ResNet-18 on CIFAR-10: runner's model, dataset, optimizer and trackers in your own training loop, with
// exact metrics on any number of ranks.
//   example_resnet18_tracked [RANKS] [RUN FOLDER] [FOLDER WITH CIFAR-10] [EXAMPLES]
#include <torch/utils.h>

#include <numbers>

#include "components/models/model.hpp"
#include "runner/accelerator/accelerator.hpp"
#include "runner/accelerator/launch.hpp"

using namespace runner;

double evaluate(Accelerator& accelerator, Model& model, const PreparedLoader<Batch>& loader) {
  const torch::NoGradGuard no_grad;
  model.eval();
  std::int64_t correct = 0, count = 0;
  for (Batch& batch : loader) {
    // Every example once, although the last batch was filled up to give each rank as many.
    auto [predicted, target] = accelerator.gather_for_metrics(model.forward(batch).argmax(1), batch.target);
    correct += predicted.eq(target).sum().item<std::int64_t>();
    count += target.size(0);
  }
  accelerator.print("evaluated ", count, " examples");
  return static_cast<double>(correct) / static_cast<double>(count);
}

int main(int argc, char** argv) {
  const int ranks = argc > 1 ? std::stoi(argv[1]) : 1;
  const std::string run = argc > 2 ? argv[2] : "runs/resnet18";
  const std::string folder = argc > 3 ? argv[3] : "data/cifar-10-batches-bin";
  const std::int64_t examples = argc > 4 ? std::stol(argv[4]) : 2000;
  constexpr int epochs = 1;

  return launch(
      [&](World& world) {
        Accelerator accelerator(
            world, {.memory_format = MemoryFormat::channels_last, .trackers = {{"tensorboard"}, {"csv"}}});
        const Splits data = accelerator.open_dataset({"cifar10",
                                                      {{"dir", folder},
                                                       {"download", false},
                                                       {"fallback", "shapes"},
                                                       {"train_limit", examples},
                                                       {"eval_limit", examples / 2 + 1}}});
        torch::manual_seed(1);
        auto model = accelerator.build_model({"resnet18", {{"stem", "cifar"}}}, data.train->spec());
        accelerator.prepare(model);
        auto optimizer = accelerator.build_optimizer({"sgd", {{"lr", 0.05}, {"momentum", 0.9}}});
        auto train = accelerator.prepare_split(*data.train, {.batch_size = 32, .shuffle = true});
        auto eval = accelerator.prepare_split(*data.eval, {.batch_size = 100});
        const double steps = static_cast<double>(epochs * data.train->size() / (32 * ranks) + 1);
        auto scheduler = accelerator.prepare_schedule(optimizer, [steps](std::int64_t step) {
          return 0.5 * (1 + std::cos(std::numbers::pi * static_cast<double>(step) / steps));
        });

        accelerator.init_trackers("resnet18", run, {{"batch_size", std::int64_t{32}}, {"lr", 0.05}});
        std::int64_t step = 0;
        for (int epoch = 0; epoch < epochs; ++epoch) {
          model->train();
          for (Batch& batch : train) {
            const torch::Tensor loss = torch::cross_entropy_loss(model->forward(batch), batch.target);
            accelerator.backward(loss);
            accelerator.log({{"train/loss", accelerator.reduce(loss).item<double>()},
                             {"train/lr", optimizer.learning_rate()}},
                            ++step);
            optimizer.step();
            scheduler.step();
            optimizer.zero_grad();
          }
          accelerator.log({{"eval/accuracy", evaluate(accelerator, *model, eval)}}, step);
        }
        accelerator.save_model(*model, run);
        accelerator.end_training();
      },
      ranks);
}
