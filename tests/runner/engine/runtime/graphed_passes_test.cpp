#include "runner/engine/runtime/graphed_passes.hpp"

#include <ATen/CPUGeneratorImpl.h>

#include <catch2/catch_all.hpp>
#include <mutex>
#include <set>

#include "components/optimizers/groups.hpp"
#include "components/torch/operator_mode.hpp"
#include "runner/engine/engine.hpp"
#include "tests/support/parts.hpp"
#include "tests/support/ranks.hpp"

using namespace runner;
using namespace runner::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

std::vector<torch::Tensor> tensors_in(const torch::jit::IValue& value) {
  if (value.isTensor() && value.toTensor().defined()) return {value.toTensor()};
  return value.isTensorList() ? value.toTensorVector() : std::vector<torch::Tensor>();
}

// What a graph is to a GPU, on the CPU: the operators of a pass, run again on the same memory. As on a GPU,
// recording changes nothing.
class ReplayedOperators final : public at::GraphImplInterface, public OperatorMode {
 public:
  explicit ReplayedOperators(const at::GraphImplArgs&) {}

  void capture_begin(at::MempoolId_t, at::GraphCaptureMode) override {
    random_before_ = at::detail::getDefaultCPUGenerator().get_state();
    recording_.emplace(*this);
  }

  void capture_end() override {
    recording_.reset();
    const torch::NoGradGuard no_grad;
    for (const auto& [tensor, values] : before_) torch::Tensor(tensor).detach().copy_(values);
    torch::Generator generator = at::detail::getDefaultCPUGenerator();
    generator.set_state(random_before_);
  }

  void replay() override {
    ++replays;
    const torch::NoGradGuard no_grad;
    for (const auto& [op, arguments, results] : calls_) {
      torch::jit::Stack stack = arguments;
      op.callBoxed(&stack);
      for (std::size_t i = 0; i < results.size(); ++i) {
        const auto recorded = tensors_in(results[i]), computed = tensors_in(stack[i]);
        for (std::size_t j = 0; j < recorded.size(); ++j)
          if (!recorded[j].is_alias_of(computed[j])) torch::Tensor(recorded[j]).detach().copy_(computed[j]);
      }
    }
  }

  void instantiate() override {}
  void reset() override {}
  at::MempoolId_t pool() const override { return {0, 0}; }
  void enable_debug_mode() override {}
  void debug_dump(const std::string&) override {}

  static inline int replays = 0;

 private:
  struct Call {
    c10::OperatorHandle op;
    torch::jit::Stack arguments, results;
  };

  bool looks_inside(const c10::OperatorHandle& op, const torch::jit::Stack&) override {
    return op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd);
  }

  void run(const c10::OperatorHandle& op, torch::jit::Stack& stack) override {
    if (op.schema().name() == "aten::_local_scalar_dense")
      throw std::runtime_error("not while a graph is recorded");
    const auto first = stack.end() - static_cast<std::ptrdiff_t>(op.schema().arguments().size());
    const torch::jit::Stack arguments(first, stack.end());
    for (const auto& argument : arguments)
      for (const torch::Tensor& tensor : tensors_in(argument))
        if (tensor.has_storage() && known_.insert(tensor.storage().unsafeGetStorageImpl()).second)
          before_.emplace_back(tensor, tensor.detach().clone());
    op.callBoxed(&stack);
    const auto results = stack.end() - static_cast<std::ptrdiff_t>(op.schema().returns().size());
    calls_.push_back({op, arguments, {results, stack.end()}});
    for (const auto& result : calls_.back().results)
      for (const torch::Tensor& tensor : tensors_in(result))
        if (tensor.has_storage()) known_.insert(tensor.storage().unsafeGetStorageImpl());
  }

  std::optional<OperatorModeScope> recording_;
  torch::Tensor random_before_;
  std::set<const void*> known_;
  std::vector<std::pair<torch::Tensor, torch::Tensor>> before_;
  std::vector<Call> calls_;
};

EngineOptions options_for(bool graphs) {
  EngineOptions options;
  options.device = "cpu";
  options.graphs = graphs;
  options.precision = [](const PrecisionInputs& inputs) { return part<PrecisionKind>("fp32").build(inputs); };
  return options;
}

void let_cpu_record() {
  if (!at::has_graph_impl(torch::kCPU))
    at::GraphImplRegistry()->Register("CPU", [](const at::GraphImplArgs& args) {
      return std::unique_ptr<at::GraphImplInterface>(new ReplayedOperators(args));
    });
}

// Convolutions, batch norm and dropout; ranks that are threads draw from one generator, so without it there.
std::shared_ptr<Model> network(bool alone) {
  static std::mutex one_at_a_time;
  const std::scoped_lock lock(one_at_a_time);
  torch::manual_seed(1);
  const DataSpec images{.input_shape = {3, 8, 8}, .classes = 4};
  return part<ModelKind>("wide_resnet", {{"depth", 10}, {"widen", 1}, {"dropout", alone ? 0.3 : 0.0}})
      .build({images});
}

Batch examples(std::int64_t count, std::int64_t seed) {
  const auto generator = at::detail::createCPUGenerator(static_cast<std::uint64_t>(seed));
  return {torch::rand({count, 3, 8, 8}, generator), torch::randint(4, {count}, generator)};
}

// Windows of two micro-batches, and now and then a short one.
std::vector<torch::Tensor> weights_after(World& world, const EngineOptions& options) {
  Engine engine(options, world);
  const auto model = network(world.alone());
  engine.prepare(model, [](const auto& parameters) {
    return part<OptimizerKind>("sgd", {{"lr", 0.1}, {"momentum", 0.9}}).build({make_groups(parameters, {})});
  });
  const auto loss = part<LossKind>("cross_entropy").build({});
  for (std::int64_t step = 0; step < 12; ++step) {
    const std::int64_t seed = 100 * step + 10 * world.rank();
    Window window{{examples(4, seed), examples(step % 5 == 4 ? 3 : 4, seed + 1)}};
    window.seed = static_cast<std::uint64_t>(step);
    engine.accumulate(window, *loss);
    engine.update(1.0);
    if (step == 8) engine.set_trainable({{"*.bias", false}});
  }
  std::vector<torch::Tensor> weights = model->parameters();
  for (const torch::Tensor& buffer : model->buffers()) weights.push_back(buffer);
  return weights;
}

bool equal(const std::vector<torch::Tensor>& some, const std::vector<torch::Tensor>& others) {
  return std::ranges::equal(some, others,
                            [](const auto& one, const auto& other) { return torch::equal(one, other); });
}

}  // namespace

TEST_CASE("graphed passes: a replayed pass gives the bits of a computed one", "[engine]") {
  let_cpu_record();
  World alone;
  ReplayedOperators::replays = 0;
  const auto replayed = weights_after(alone, options_for(true));
  CHECK(ReplayedOperators::replays > 12);
  CHECK(equal(replayed, weights_after(alone, options_for(false))));
}

TEST_CASE("graphed passes: ranks exchange the gradients of replayed passes", "[engine][ranks]") {
  let_cpu_record();
  std::vector<std::vector<torch::Tensor>> replayed(2), computed(2);
  on_ranks(2, [&](World& world) {
    const auto rank = static_cast<std::size_t>(world.rank());
    computed[rank] = weights_after(world, options_for(false));
    replayed[rank] = weights_after(world, options_for(true));
  });
  CHECK(equal(replayed[0], replayed[1]));
  for (std::size_t i = 0; i < replayed[0].size(); ++i)
    CHECK(torch::allclose(replayed[0][i], computed[0][i], 1e-4, 1e-6));
}

TEST_CASE("graphed passes: a pass that waits for the device is refused with a remedy", "[engine]") {
  let_cpu_record();
  GraphedPasses passes(torch::kCPU);
  const torch::Tensor weight = torch::ones({3}, torch::requires_grad());
  const auto pass = [&] {
    passes.run(
        examples(2, 0), {weight},
        [&](const Batch& batch) { return weight.sum() * batch.input.sum().item<double>(); },
        [](const torch::Tensor& sum) { return torch::ones_like(sum); });
  };
  for (int i = 0; i < 3; ++i) pass();
  CHECK_THROWS_WITH(pass(), ContainsSubstring("train.cuda_graphs = false"));
}
