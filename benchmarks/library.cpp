// What the library costs in each step: the same training as a bare LibTorch loop and through Accelerator, in
// turns. Prints JSON with the median of each, in microseconds of CPU time, which other programs disturb
// little, and the median ratio.
//   benchmark_library [STEPS OF A ROUND] [ROUNDS] [THREADS]
#include <ATen/Parallel.h>
#include <torch/nn.h>
#include <torch/optim/adam.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <iostream>

#include "runner/accelerator/accelerator.hpp"
#include "runner/engine/runtime/process.hpp"

namespace {

using namespace torch::nn;

Sequential mlp() { return Sequential(Flatten(), Linear(3 * 32 * 32, 128), ReLU(), Linear(128, 10)); }

Sequential simple_cnn() {
  const auto convolution = [](int in, int out) { return Conv2d(Conv2dOptions(in, out, 3).padding(1)); };
  return Sequential(convolution(3, 16), ReLU(), MaxPool2d(2), convolution(16, 32), ReLU(), MaxPool2d(2),
                    Flatten(), Linear(32 * 8 * 8, 256), ReLU(), Linear(256, 10));
}

using Images = torch::data::Example<>;

std::vector<Images> some_batches(std::int64_t count) {
  std::vector<Images> batches;
  for (std::int64_t i = 0; i < count; ++i)
    batches.push_back({torch::rand({64, 3, 32, 32}), torch::randint(10, {64}, torch::kLong)});
  return batches;
}

torch::Tensor loss_of(Sequential& model, const Images& batch) {
  return torch::cross_entropy_loss(model->forward(batch.data), batch.target);
}

double microseconds_of_a_step(std::int64_t steps, const std::function<void()>& all_steps) {
  const std::clock_t start = std::clock();
  all_steps();
  return static_cast<double>(std::clock() - start) * 1e6 / CLOCKS_PER_SEC / static_cast<double>(steps);
}

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

void compare(const std::string& name, const std::function<Sequential()>& make, std::int64_t steps,
             int rounds) {
  const std::vector<Images> batches = some_batches(steps);
  Sequential plain = make(), model = make();
  torch::optim::Adam plain_adam(plain->parameters(), 1e-3), adam(model->parameters(), 1e-3);
  runner::World alone;
  runner::Accelerator accelerator(alone, {.device = "cpu"});
  auto [prepared, optimizer] = accelerator.prepare(model, adam);
  auto loader = accelerator.prepare_batches<Images>([&](std::int64_t) {
    return [&, at = std::size_t{0}]() mutable {
      return at < batches.size() ? std::optional(batches[at++]) : std::nullopt;
    };
  });
  std::vector<double> bare, library;
  const auto of_bare = [&] {
    return microseconds_of_a_step(steps, [&] {
      for (const Images& batch : batches) {
        loss_of(plain, batch).backward();
        plain_adam.step();
        plain_adam.zero_grad();
      }
    });
  };
  const auto of_library = [&, &steps_of = optimizer] {
    return microseconds_of_a_step(steps, [&] {
      for (Images& batch : loader) {
        accelerator.backward(loss_of(model, batch));
        steps_of.step();
        steps_of.zero_grad();
      }
    });
  };
  of_bare(), of_library();  // for caches
  for (int round = 0; round < rounds; ++round) {
    const bool bare_first = round % 2 == 0;
    if (bare_first) bare.push_back(of_bare());
    library.push_back(of_library());
    if (!bare_first) bare.push_back(of_bare());
  }
  std::vector<double> ratios;
  for (std::size_t i = 0; i < bare.size(); ++i) ratios.push_back(library[i] / bare[i]);
  std::cout << "{\"model\": \"" << name << "\", \"bare_us\": " << median(bare)
            << ", \"library_us\": " << median(library) << ", \"ratio\": " << median(ratios) << "}"
            << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  runner::keep_freed_memory();  // for both: otherwise the kernel clears the same pages in every step
  const std::int64_t steps = argc > 1 ? std::stoll(argv[1]) : 100;
  const int rounds = argc > 2 ? std::stoi(argv[2]) : 11;
  at::set_num_threads(argc > 3 ? std::stoi(argv[3]) : 1);
  compare("mlp", mlp, steps, rounds);
  compare("simple_cnn", simple_cnn, steps, rounds);
}
