// What users of Accelerate rely on, checked on real processes: the behaviour that its own test scripts check,
// for everything that has a meaning here. Each group gets an accelerator of its own.
//   library_checks RANKS FOLDER
#include <torch/data.h>
#include <torch/nn.h>
#include <torch/optim/adamw.h>
#include <torch/optim/schedulers/lr_scheduler.h>
#include <torch/optim/sgd.h>
#include <torch/utils.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "runner/accelerator/accelerator.hpp"
#include "runner/accelerator/launch.hpp"

using namespace runner;
namespace fs = std::filesystem;

namespace {

void require(bool holds, const std::string& what) {
  if (!holds) throw std::logic_error("does not hold: " + what);
}

template <class Function>
std::string error_of(const Function& function) {
  try {
    function();
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

using Sequential = torch::data::samplers::SequentialSampler;
using Random = torch::data::samplers::RandomSampler;

// y = 2 x + 3 with a little noise, one number each.
struct Line : torch::data::datasets::Dataset<Line> {
  explicit Line(std::size_t count_) : count(count_) {}
  torch::data::Example<> get(std::size_t index) override {
    const auto number = static_cast<double>(index);
    const double x = std::sin(7 * number);
    return {torch::tensor({x}, torch::kFloat),
            torch::tensor({2 * x + 3 + 0.1 * std::cos(number)}, torch::kFloat)};
  }
  std::optional<std::size_t> size() const override { return count; }
  std::size_t count;
};

// The numbers from 0 on, as batches.
struct Counting : torch::data::datasets::Dataset<Counting, torch::data::TensorExample> {
  explicit Counting(std::size_t count_) : count(count_) {}
  torch::data::TensorExample get(std::size_t index) override {
    return torch::tensor(static_cast<std::int64_t>(index));
  }
  std::optional<std::size_t> size() const override { return count; }
  std::size_t count;
};

template <class Sampler>
auto counting(std::size_t count, std::size_t batch_size, bool drop_last = false) {
  return torch::data::make_data_loader<Sampler>(
      Counting(count).map(torch::data::transforms::Stack<torch::data::TensorExample>()),
      torch::data::DataLoaderOptions(batch_size).drop_last(drop_last));
}

template <class Sampler>
auto line(std::size_t count, std::size_t batch_size) {
  return torch::data::make_data_loader<Sampler>(Line(count).map(torch::data::transforms::Stack<>()),
                                                batch_size);
}

struct RegressionImpl : torch::nn::Module {
  torch::Tensor a = register_parameter("a", torch::zeros({1})),
                b = register_parameter("b", torch::zeros({1}));
  torch::Tensor forward(const torch::Tensor& x) { return a * x + b; }
};
TORCH_MODULE(Regression);

torch::Tensor loss_of(Regression& model, const torch::Tensor& input, const torch::Tensor& target) {
  return torch::mse_loss(model(input).to(torch::kFloat), target);
}

bool same_gradients(const Regression& one, const Regression& other) {
  const auto same = [](const torch::Tensor& a, const torch::Tensor& b) {
    return a.grad().defined() && b.grad().defined() && torch::allclose(a.grad(), b.grad(), 1e-4, 1e-5);
  };
  return same(one->a, other->a) && same(one->b, other->b);
}

// --- processes ---

void who_runs_what(World& world, const fs::path& folder) {
  Accelerator accelerator(world);
  const int rank = accelerator.process_index(), ranks = accelerator.num_processes();
  const fs::path file = folder / ("first_" + std::to_string(ranks));
  {
    const auto first = accelerator.main_process_first();
    std::ofstream(file, std::ios::app) << (accelerator.is_main_process() ? "main\n" : "other\n");
  }
  accelerator.wait_for_everyone();
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  std::string expected = "main\n";
  for (int other = 1; other < ranks; ++other) expected += "other\n";
  require(text.str() == expected, "the main process is first: " + text.str());
  {
    const auto first = accelerator.local_main_process_first();
  }

  std::string ran;
  accelerator.on_main_process([&] { ran += "main "; });
  accelerator.on_local_main_process([&] { ran += "local "; });
  accelerator.on_last_process([&] { ran += "last "; });
  accelerator.on_process(ranks / 2, [&] { ran += "middle "; });
  accelerator.on_local_process(0, [&] { ran += "local0 "; });
  const bool first = rank == 0;
  require(ran == std::string(first ? "main local " : "") + (rank == ranks - 1 ? "last " : "") +
                     (rank == ranks / 2 ? "middle " : "") + (first ? "local0 " : ""),
          "functions run on their rank alone: " + ran);
  require(accelerator.is_last_process() == (rank == ranks - 1), "is_last_process");

  require(!accelerator.check_trigger(), "a trigger is not set at first");
  if (rank == ranks - 1) accelerator.set_trigger();
  require(accelerator.check_trigger(), "a trigger that one rank sets is seen by all");
  require(!accelerator.check_trigger(), "and is reset then");

  torch::manual_seed(static_cast<std::uint64_t>(100 + rank));
  accelerator.synchronize_rng_states();
  const torch::Tensor drawn = torch::rand({4});
  require(accelerator.gather(drawn).view({ranks, 4}).eq(drawn).all().item<bool>(),
          "random generators are the same after synchronize_rng_states()");
}

void splitting(World& world, const fs::path&) {
  Accelerator accelerator(world);
  const auto ranks = static_cast<std::int64_t>(accelerator.num_processes()),
             rank = std::int64_t{world.rank()};
  for (const std::int64_t count : {2 * ranks, 2 * ranks - 1}) {
    std::vector<std::int64_t> list;
    for (std::int64_t i = 0; i < count; ++i) list.push_back(i);
    const auto own = accelerator.split_between_processes(list);
    require(own.size() == (rank < count - ranks || count == 2 * ranks ? 2U : 1U), "parts of a list");
    const auto padded = accelerator.split_between_processes(list, true);
    require(padded.size() == static_cast<std::size_t>((count + ranks - 1) / ranks),
            "padded parts are equally long");
    auto gathered = accelerator.gather_object(padded);
    gathered.resize(list.size());
    require(gathered == list, "parts of a list, gathered, are the list");
    const torch::Tensor tensor = torch::arange(count).view({count, 1});
    const torch::Tensor part = accelerator.split_between_processes(tensor, true);
    require(torch::equal(accelerator.gather(part).narrow(0, 0, count), tensor), "parts of a tensor");
  }
  const std::vector<int> seventeen(17);
  const auto extras = static_cast<std::size_t>(17 % ranks), each = static_cast<std::size_t>(17 / ranks);
  require(accelerator.split_between_processes(seventeen).size() ==
              each + (static_cast<std::size_t>(rank) < extras ? 1 : 0),
          "the first parts are longer");
  // Prompts with their numbers, as for distributed inference.
  struct Prompts {
    std::vector<std::string> texts;
    std::map<std::string, torch::Tensor> more;
  };
  const Prompts prompts{{"a", "b", "c", "d", "e", "f", "g", "h"}, {{"number", torch::arange(8)}}};
  const Prompts own = accelerator.split_between_processes(prompts);
  for (std::size_t i = 0; i < own.texts.size(); ++i)
    require(own.texts[i][0] - 'a' == own.more.at("number")[static_cast<std::int64_t>(i)].item<std::int64_t>(),
            "the members of a structure are divided alike");
  require(accelerator.gather_object(own.texts) == prompts.texts, "its parts are the whole");
  require(accelerator.split_between_processes(std::vector<int>{}, true).empty(), "nothing to split");
}

// --- operations ---

void operations(World& world, const fs::path&) {
  Accelerator accelerator(world);
  const auto ranks = static_cast<std::int64_t>(accelerator.num_processes()),
             rank = std::int64_t{world.rank()};
  const torch::Tensor own = torch::arange(ranks, torch::kFloat) + 1 + ranks * rank;
  require(torch::equal(accelerator.gather(own), torch::arange(1, ranks * ranks + 1, torch::kFloat)),
          "gather");
  require(accelerator.gather(torch::arange(12).view({4, 3}).t()).size(0) == 3 * ranks,
          "gather of a tensor that is not contiguous");
  require(torch::equal(accelerator.broadcast(own), torch::arange(1, ranks + 1, torch::kFloat)), "broadcast");
  const torch::Tensor longer = torch::arange(accelerator.is_main_process() ? ranks + 1 : ranks) + 1;
  const torch::Tensor padded = accelerator.pad_across_processes(longer);
  require(padded.size(0) == ranks + 1, "pad_across_processes");
  require(accelerator.is_main_process() || padded[ranks].item<std::int64_t>() == 0, "pads with zeros");
  using Reduce = Accelerator::Reduce;
  torch::Tensor all = accelerator.gather(own).view({ranks, ranks});
  require(torch::allclose(accelerator.reduce(own, Reduce::sum), all.sum(0)), "reduce sum");
  require(torch::allclose(accelerator.reduce(own, Reduce::mean), all.mean(0)), "reduce mean");
  require(torch::equal(accelerator.reduce(own, Reduce::max), std::get<0>(all.max(0))), "reduce max");
  require(torch::equal(accelerator.reduce(own, Reduce::min), std::get<0>(all.min(0))), "reduce min");

  const auto numbers = accelerator.gather_object(std::vector<std::int64_t>{rank});
  for (std::int64_t i = 0; i < ranks; ++i)
    require(numbers.at(static_cast<std::size_t>(i)) == i, "gather_object");
  struct Note {
    std::string text;
    std::vector<double> values;
    std::optional<torch::Tensor> tensor;
  };
  const Note note{"rank " + std::to_string(rank), std::vector<double>(static_cast<std::size_t>(rank), 0.5),
                  torch::full({2}, rank)};
  const std::vector<Note> notes = accelerator.gather_object(note);
  for (std::int64_t i = 0; i < ranks; ++i) {
    const Note& of = notes.at(static_cast<std::size_t>(i));
    require(of.text == "rank " + std::to_string(i) && of.values.size() == static_cast<std::size_t>(i) &&
                of.tensor->eq(i).all().item<bool>(),
            "gather_object of structures of different sizes");
  }
  require(accelerator.broadcast_object(note, world.size() - 1).text == "rank " + std::to_string(ranks - 1),
          "broadcast_object");
  if (world.alone()) return;

  // Every rank says which call and which rank, and the ranks stay usable.
  const torch::Tensor flat = torch::zeros({1, 5}), deep = torch::zeros({1, 2, 5});
  const torch::Tensor& odd = rank == 0 ? flat : deep;
  const auto names = [](const std::string& said, const std::string& call) {
    require(said.find(call) != std::string::npos && said.find("rank 0 has") != std::string::npos &&
                said.find("rank 1 has") != std::string::npos,
            call + " names the difference: " + said);
  };
  names(error_of([&] { accelerator.pad_across_processes(odd); }), "pad_across_processes()");
  names(error_of([&] { accelerator.reduce(odd); }), "reduce()");
  names(error_of([&] { accelerator.broadcast(odd); }), "broadcast()");
  names(
      error_of([&] { accelerator.reduce(rank == 0 ? torch::zeros({2}) : torch::zeros({2}, torch::kLong)); }),
      "reduce()");
  const std::string mixed = error_of([&] {
    if (rank == 0) {
      accelerator.gather_object(std::string("text"));
    } else {
      accelerator.gather_object(1.5);
    }
  });
  require(mixed.find("gather_object: rank ") != std::string::npos,
          "objects of other types are named: " + mixed);
  require(accelerator.gather(torch::tensor(1)).size(0) == ranks, "the ranks are usable after all that");
}

// --- loaders ---

template <class Loader>
torch::Tensor gathered(Accelerator& accelerator, Loader& loader) {
  std::vector<torch::Tensor> all;
  for (auto& batch : loader) all.push_back(accelerator.gather(batch.data));
  return torch::cat(all);
}

void loaders(World& world, const fs::path&) {
  Accelerator accelerator(world);
  const auto length = static_cast<std::size_t>(32 * world.size());
  const torch::Tensor expected = torch::arange(static_cast<std::int64_t>(length));
  for (const bool split : {false, true}) {
    for (const bool dispatch : {false, true}) {
      const LoaderSettings settings{.split_batches = split, .dispatch_batches = dispatch};
      auto plain = accelerator.prepare_loader(counting<Sequential>(length, 8), settings);
      require(torch::equal(gathered(accelerator, plain), expected), "the order of a loader");
      auto shuffled = accelerator.prepare_loader(counting<Random>(length, 8), settings);
      const torch::Tensor all = gathered(accelerator, shuffled);
      require(!torch::equal(all, expected), "shuffled");
      require(torch::equal(std::get<0>(all.sort()), expected), "every example of a shuffled loader");
    }
  }
  // The order depends on seed and epoch alone, not on what else is drawn.
  const auto order = [&](std::uint64_t seed, std::uint64_t other) {
    Accelerator seeded(world, {.seed = seed});
    torch::manual_seed(other);
    auto loader = seeded.prepare(counting<Random>(20, 2));
    const torch::Tensor first = gathered(seeded, loader), second = gathered(seeded, loader);
    require(!torch::equal(first, second), "each pass has its own order");
    loader.set_epoch(0);
    require(torch::equal(gathered(seeded, loader), first), "set_epoch() gives the order of a pass again");
    return torch::cat({first, second});
  };
  require(torch::equal(order(42, 1), order(42, 2)), "the same seed, the same order");
  require(!torch::equal(order(42, 1), order(43, 1)), "another seed, another order");

  // Loaders within loaders know their own end.
  auto outer = accelerator.prepare(counting<Sequential>(length, 16)),
       inner = accelerator.prepare(counting<Sequential>(length, 8));
  std::int64_t at = 0;
  for ([[maybe_unused]] auto& batch : outer) {
    ++at;
    if (at == 1) {
      std::int64_t within = 0;
      for ([[maybe_unused]] auto& other : inner) {
        ++within;
        require(inner.end_of_loader() == (within == *inner.size()), "the end of the inner loader");
      }
    }
    require(outer.end_of_loader() == (at == *outer.size()), "the end of the outer loader");
  }

  // gather_for_metrics: every example once, whatever remains at the end.
  for (const bool split : {false, true}) {
    for (const bool dispatch : {false, true}) {
      for (const bool even : {false, true}) {
        for (const std::size_t count : {std::size_t{99}, std::size_t{512}, std::size_t{1}}) {
          auto loader = accelerator.prepare_loader(
              line<Sequential>(count, 16),
              {.split_batches = split, .dispatch_batches = dispatch, .even_batches = even});
          std::vector<torch::Tensor> inputs, targets;
          for (auto& batch : loader) {
            const auto [input, target] = accelerator.gather_for_metrics(batch.data, batch.target);
            inputs.push_back(input), targets.push_back(target);
          }
          require(torch::cat(inputs).size(0) == static_cast<std::int64_t>(count), "as many as there are");
          require(torch::equal(torch::cat(targets)[-1], Line(count).get(count - 1).target),
                  "the last one, too");
        }
      }
    }
  }
  auto dropping =
      accelerator.prepare(counting<Sequential>(static_cast<std::size_t>(10 * world.size() + 1), 5, true));
  for (auto& batch : dropping)
    require(accelerator.gather_for_metrics(batch.data).size(0) == 5 * world.size(),
            "drop_last: full batches only");

  // skip_first_batches, and the rest of a pass after another.
  const auto all_batches = accelerator.prepare(counting<Sequential>(length, 4));
  std::vector<torch::Tensor> rest;
  for (auto& batch : accelerator.skip_first_batches(all_batches, 3))
    rest.push_back(accelerator.gather(batch.data));
  require(torch::equal(torch::cat(rest), expected.slice(0, 12 * world.size())), "skip_first_batches");
}

// --- gradients ---

void synchronisation(World& world, const fs::path&) {
  // A plain model on the batches of all ranks, and the prepared one on this rank's.
  Regression plain, model;
  Accelerator accelerator(world);
  accelerator.prepare(model);
  auto loader = accelerator.prepare(line<Sequential>(static_cast<std::size_t>(16 * world.size()), 16));
  auto pass = loader.begin();
  auto& batch = *pass;
  const auto both = [&](int shift) {
    const torch::Tensor input = batch.data.roll(shift) + shift, target = batch.target;
    loss_of(plain, accelerator.gather(input), accelerator.gather(target)).backward();
    return loss_of(model, input, target);
  };
  for (int iteration = 0; iteration < 3; ++iteration) {
    const torch::Tensor loss = both(iteration);
    if (iteration == 1) {
      const auto local = accelerator.no_sync();
      accelerator.backward(loss);
    } else {
      accelerator.backward(loss);
    }
    const bool exchanged = iteration != 1 || world.alone();
    require(same_gradients(plain, model) == exchanged, "no_sync() alone keeps gradients on their rank");
  }
  // Several forward passes, then their backward passes, of which the last one exchanges.
  plain->zero_grad(), model->zero_grad();
  std::vector<torch::Tensor> losses;
  for (int iteration = 0; iteration < 3; ++iteration) losses.push_back(both(iteration));
  {
    const auto local = accelerator.no_sync();
    accelerator.backward(losses[0]);
    accelerator.backward(losses[1]);
    require(world.alone() || !same_gradients(plain, model), "not yet exchanged");
    const auto now = accelerator.trigger_sync_in_backward();
    accelerator.backward(losses[2]);
  }
  require(same_gradients(plain, model), "trigger_sync_in_backward() exchanges all of them");
}

void accumulation(World& world, const fs::path&) {
  for (const bool split : {false, true}) {
    for (const bool dispatch : {false, true}) {
      Accelerator accelerator(world, {.accumulation_steps = 2,
                                      .loaders = {.split_batches = split, .dispatch_batches = dispatch}});
      Regression plain, model;
      torch::optim::AdamW plain_adam(plain->parameters(), 1e-2), adam(model->parameters(), 1e-2);
      auto [prepared, optimizer, loader] = accelerator.prepare(model, adam, line<Sequential>(80, 16));
      auto schedule = accelerator.prepare_schedule(
          optimizer, [](std::int64_t step) { return 1.0 / (1 + 0.1 * static_cast<double>(step)); });
      std::int64_t batches = 0, updates = 0, in_window = 0;
      torch::Tensor sum = torch::zeros({});
      for (auto& batch : loader) {
        ++batches;
        const torch::Tensor input = accelerator.gather_for_metrics(batch.data),
                            target = accelerator.gather_for_metrics(batch.target);
        sum = sum + loss_of(plain, input, target);
        ++in_window;
        const bool updates_now = batches % 2 == 0 || batches == *loader.size();
        if (updates_now) {
          (sum / in_window).backward();
          static_cast<torch::optim::AdamWOptions&>(plain_adam.param_groups()[0].options())
              .lr(1e-2 / (1 + 0.1 * static_cast<double>(updates)));
          plain_adam.step(), plain_adam.zero_grad();
          sum = torch::zeros({}), in_window = 0, ++updates;
        }
        const auto accumulating = accelerator.accumulate();
        accelerator.backward(loss_of(model, batch.data, batch.target));
        require(accelerator.sync_gradients() == updates_now, "sync_gradients() says when");
        optimizer.step(), schedule.step(), optimizer.zero_grad();
        require(torch::allclose(plain->a, model->a, 1e-4, 1e-5) &&
                    torch::allclose(plain->b, model->b, 1e-4, 1e-5),
                "accumulated updates are those of the larger batch");
        require(std::abs(optimizer.learning_rate() - 1e-2 / (1 + 0.1 * static_cast<double>(updates))) < 1e-12,
                "the schedule advances with updates");
      }
    }
  }
}

void past_the_accelerator(World& world, const fs::path&) {
  Regression model;
  torch::optim::SGD sgd(model->parameters(), 0.1);
  Accelerator accelerator(world);
  auto [prepared, optimizer] = accelerator.prepare(model, sgd);
  const auto loss = [&] {
    return loss_of(model, torch::ones({2, 1}) * (world.rank() + 1), torch::ones({2, 1}));
  };
  loss().backward();
  const std::string said = error_of([&, &used = optimizer] { used.step(); });
  require(world.alone() == said.empty(), "loss.backward() is noticed where ranks would differ: " + said);
  if (world.alone()) return;
  require(said.find("call accelerator.backward(loss) instead") != std::string::npos, said);
  optimizer.zero_grad();
  accelerator.backward(loss());
  optimizer.step();
  optimizer.zero_grad();
  require(accelerator.gather(model->a.detach()).eq(model->a.detach()).all().item<bool>(),
          "equal weights afterwards");
}

// --- training ---

// Trains as one process does with the batches of all; returns the weights.
void training(World& world, const fs::path&) {
  const auto train = [](World& on, const std::string& precision, std::size_t batch_size, bool split,
                        DistributedOptions distributed = {}) {
    Accelerator accelerator(on, {.precision = {precision},
                                 .seed = 42,
                                 .loaders = {.split_batches = split},
                                 .distributed = distributed});
    Regression model;
    torch::optim::SGD sgd(model->parameters(), 0.1);
    auto [prepared, optimizer, loader] = accelerator.prepare(model, sgd, line<Sequential>(66, batch_size));
    for (int epoch = 0; epoch < 3; ++epoch) {
      for (auto& batch : loader) {
        optimizer.zero_grad();
        torch::Tensor loss;
        {
          const auto autocast = accelerator.autocast();
          loss = loss_of(model, batch.data, batch.target);
          const auto full = accelerator.autocast(false);
          require(torch::mm(torch::ones({2, 2}), torch::ones({2, 2})).scalar_type() == torch::kFloat,
                  "autocast off inside");
        }
        accelerator.backward(loss);
        accelerator.clip_grad_norm_(model->parameters(), 5, INFINITY);
        optimizer.step();
      }
    }
    return torch::cat({model->a.detach(), model->b.detach()});
  };
  World alone;
  const auto ranks = static_cast<std::size_t>(world.size());
  for (const char* precision : {"fp32", "bf16", "fp16"}) {
    const torch::Tensor expected = train(alone, precision, 4 * ranks, false);
    require(torch::allclose(train(world, precision, 4, false), expected, 1e-4, 1e-5),
            std::string(precision) + ": ranks train as one process");
    require(torch::allclose(train(world, precision, 4 * ranks, true), expected, 1e-4, 1e-5),
            std::string(precision) + ", split_batches: ranks train as one process");
  }
  const torch::Tensor expected = train(alone, "fp32", 4 * ranks, false);
  for (const Compression compression : {Compression::fp16, Compression::bf16, Compression::powersgd})
    require(
        torch::allclose(train(world, "fp32", 4, false, {.compression = compression}), expected, 1e-2, 1e-2),
        "compressed gradients train about the same");
}

void states(World& world, const fs::path& folder) {
  const ProjectOptions project{.folder = folder / ("project_" + std::to_string(world.size())),
                               .total_limit = 1};
  const auto run = [&](bool resume, int until, int save_at) {
    Accelerator accelerator(world, {.seed = 3, .project = project});
    Regression model;
    torch::optim::AdamW adam(model->parameters(), 1e-2);
    auto [prepared, optimizer, loader] = accelerator.prepare(model, adam, line<Random>(48, 4));
    std::int64_t skip = 0;
    if (resume) {
      accelerator.load_state();
      skip = loader.position();
    }
    for (int step = resume ? save_at : 0; step < until;) {
      for (auto& batch : accelerator.skip_first_batches(loader, std::exchange(skip, 0))) {
        accelerator.backward(loss_of(model, batch.data, batch.target));
        optimizer.step(), optimizer.zero_grad();
        if (++step == save_at && !resume) accelerator.save_state();
        if (step == until) break;
      }
    }
    accelerator.wait_for_everyone();
    return torch::cat({model->a.detach(), model->b.detach()});
  };
  const torch::Tensor whole = run(false, 20, 6), resumed = run(true, 20, 6);
  require(torch::equal(whole, resumed), "a state saved in the middle of a pass continues with the same bits");
}

using Check = void (*)(World&, const fs::path&);
constexpr std::pair<const char*, Check> checks[] = {{"who runs what", who_runs_what},
                                                    {"splitting", splitting},
                                                    {"operations", operations},
                                                    {"loaders", loaders},
                                                    {"synchronisation", synchronisation},
                                                    {"accumulation", accumulation},
                                                    {"past the accelerator", past_the_accelerator},
                                                    {"training", training},
                                                    {"states", states}};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::cerr << "library_checks RANKS FOLDER\n", 2;
  const fs::path folder = argv[2];
  return launch(
      [&](World& world) {
        for (const auto& [name, check] : checks) {
          if (world.is_main()) std::cout << name << std::endl;
          check(world, folder);
        }
      },
      std::stoi(argv[1]));
}
