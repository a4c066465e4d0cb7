#include "runner/engine/sharded_parameters.hpp"

#include <torch/nn.h>
#include <torch/script.h>
#include <torch/utils.h>

#include <catch2/catch_all.hpp>
#include <mutex>

#include "components/hooks/support/weight_average.hpp"
#include "components/optimizers/support/groups.hpp"
#include "components/support/precision/autocast.hpp"
#include "components/support/precision/no_autocast_cache.hpp"
#include "registry/registry.hpp"
#include "runner/engine/batch_part.hpp"
#include "runner/engine/engine.hpp"
#include "runner/engine/parameter_units.hpp"
#include "runner/engine/sharding.hpp"
#include "tests/support/parts.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace runner;
using namespace runner::testing;

namespace {

// The ranks of a test are threads that share one generator of random numbers.
std::shared_ptr<Model> make(const std::string& name, const Settings& settings, const DataSpec& data) {
  static std::mutex one_at_a_time;
  const std::scoped_lock lock(one_at_a_time);
  torch::manual_seed(3);
  return part<ModelKind>(name, settings).build({data});
}

const DataSpec windows{
    .input_shape = {6}, .input_type = torch::kInt64, .target_shape = {6}, .classes = 11, .vocabulary = 11};
const DataSpec sentences{.input_shape = {6}, .input_type = torch::kInt64, .classes = 3, .vocabulary = 11};
const DataSpec images{.input_shape = {3, 16, 16}, .classes = 5};
const DataSpec pairs{.input_shape = {6}, .input_type = torch::kInt64, .target_shape = {4}, .vocabulary = 11};
const DataSpec rows{.input_shape = {4}, .classes = 2, .categories = {3, 20}};

const Settings tiny{{"layers", 2}, {"heads", 2}, {"width", 8}, {"dropout", 0.0}};

Batch examples(const DataSpec& data, std::int64_t first, std::int64_t count) {
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

// On the thread of a rank.
void require(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error("does not hold: " + what);
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
  DistributedSection distributed = {};
  int freeze_after = -1;  // steps: the first half of the parameters
  OnOutOfMemory on_full = OnOutOfMemory::stop;
};

Case sharded(Case about, std::uint64_t unit_bytes = 2000) {
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

Trained train(World& world, const Case& about, int steps = 3, const Trained* go_on = nullptr) {
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

std::vector<Trained> train_each(int ranks, const Case& about, int steps = 3, const Trained* go_on = nullptr) {
  std::vector<Trained> results(static_cast<std::size_t>(ranks));
  on_ranks(ranks, [&](World& world) {
    results[static_cast<std::size_t>(world.rank())] = train(world, about, steps, go_on);
  });
  return results;
}

// As a checkpoint does: of what several ranks have, the first.
void join(State& all, const State& part) {
  all.tensors.insert(part.tensors.begin(), part.tensors.end());
  all.integers.insert(part.integers.begin(), part.integers.end());
  all.numbers.insert(part.numbers.begin(), part.numbers.end());
  for (const auto& [name, inner] : part.parts) join(all.parts[name], inner);
}

Trained train_on(int ranks, const Case& about, int steps = 3, const Trained* go_on = nullptr) {
  const std::vector<Trained> results = train_each(ranks, about, steps, go_on);
  Trained all = results[0];
  for (const Trained& each : results) {
    join(all.model, each.model);
    join(all.optimizer, each.optimizer);
    join(all.average, each.average);
  }
  return all;
}

Trained train_alone(const Case& about, int steps = 3, const Trained* go_on = nullptr) {
  World alone;
  return train(alone, about, steps, go_on);
}

void check_close(const std::map<std::string, torch::Tensor>& one,
                 const std::map<std::string, torch::Tensor>& other, double tolerance = 1e-4) {
  REQUIRE(one.size() == other.size());
  for (const auto& [name, tensor] : one) {
    INFO(name);
    REQUIRE(tensor.sizes() == other.at(name).sizes());
    CHECK(torch::allclose(tensor.to(torch::kDouble), other.at(name).to(torch::kDouble), tolerance,
                          tolerance / 10));
  }
}

void check_close(const Trained& one, const Trained& other, double tolerance = 1e-4) {
  for (std::size_t i = 0; i < one.losses.size(); ++i) {
    CHECK_THAT(other.losses[i], Catch::Matchers::WithinRel(one.losses[i], tolerance));
    if (std::isfinite(one.norms[i]))
      CHECK_THAT(other.norms[i], Catch::Matchers::WithinRel(one.norms[i], 10 * tolerance));
  }
  check_close(one.weights, other.weights, tolerance);
  check_close(one.model.tensors, other.model.tensors, tolerance);
  check_close(one.average.parts.at("average").tensors, other.average.parts.at("average").tensors, tolerance);
}

bool same_bits(const std::map<std::string, torch::Tensor>& one,
               const std::map<std::string, torch::Tensor>& other) {
  return std::ranges::all_of(
      one, [&](const auto& entry) { return torch::equal(entry.second, other.at(entry.first)); });
}

}  // namespace

TEST_CASE("sharded parameters: any number of ranks trains as one does", "[zero3]") {
  const int ranks = GENERATE(2, 3, 4);
  Case about;
  about.batches = GENERATE(std::vector<std::int64_t>{5}, std::vector<std::int64_t>{5, 3, 1});
  const Trained one = train_alone(about);
  check_close(one, train_on(ranks, sharded(about)));
}

namespace {

// A convolution, batch norm and a linear layer in modules of their own.
void save_script(const std::filesystem::path& path) {
  const auto waves = [](std::vector<std::int64_t> shape) {
    const torch::Tensor flat = torch::empty(shape);
    return torch::arange(flat.numel(), torch::kFloat).view(shape).sin().div(10).detach();
  };
  torch::jit::Module conv("conv"), norm("norm"), head("head"), net("net");
  conv.register_parameter("weight", waves({6, 3, 3, 3}).requires_grad_(), false);
  conv.define("def forward(self, x):\n  return torch.conv2d(x, self.weight, None, [2, 2], [1, 1])\n");
  norm.register_parameter("weight", torch::ones(6).requires_grad_(), false);
  norm.register_parameter("bias", torch::zeros(6).requires_grad_(), false);
  norm.register_attribute("training", c10::BoolType::get(), true);
  norm.register_buffer("running_mean", torch::zeros(6));
  norm.register_buffer("running_var", torch::ones(6));
  norm.define(
      "def forward(self, x):\n"
      "  return torch.batch_norm(x, self.weight, self.bias, self.running_mean, self.running_var, "
      "self.training,"
      " 0.1, 1e-05, False)\n");
  head.register_parameter("weight", waves({5, 384}).requires_grad_(), false);
  head.register_parameter("bias", torch::ones(5).requires_grad_(), false);
  head.define("def forward(self, x):\n  return torch.linear(torch.flatten(x, 1), self.weight, self.bias)\n");
  net.register_module("conv", conv);
  net.register_module("norm", norm);
  net.register_module("head", head);
  net.define(
      "def forward(self, x):\n  return "
      "self.head.forward(torch.relu(self.norm.forward(self.conv.forward(x))))\n");
  net.save(path.string());
}

struct Shortened {
  Settings settings = {};
  DataSpec data = images;
  bool large = false;  // only where RUNNER_THOROUGH is set
};

// Models of the components, by name: small where they can be.
const std::map<std::string, Shortened>& shortened_models() {
  static const TemporaryFolder folder;
  static const std::map<std::string, Shortened> all = [] {
    save_script(folder / "net.pt");
    const Shortened cifar{{{"stem", "cifar"}}, images, false}, large{{{"stem", "cifar"}}, images, true};
    return std::map<std::string, Shortened>{
        {"autoencoder", {}},
        {"bert", {tiny, sentences}},
        {"gpt", {{{"layers", 2}, {"heads", 2}, {"width", 8}, {"checkpoint_activations", true}}, windows}},
        {"llama", {{{"layers", 2}, {"heads", 2}, {"width", 8}}, windows}},
        {"lstm", {{}, sentences}},
        {"mlp", {}},
        {"mobilenet_v2", {{{"width", 0.1}, {"stem", "cifar"}, {"dropout", 0.0}}}},
        {"resnet18", cifar},
        {"resnet20", {}},
        {"resnet32", {}},
        {"resnet34", large},
        {"resnet44", {}},
        {"resnet50", cifar},
        {"resnet56", {}},
        {"resnet101", large},
        {"simple_cnn", {}},
        {"tabular", {{{"dropout", 0.0}}, rows}},
        {"text_mean", {{}, sentences}},
        {"torchscript", {{{"file", (folder / "net.pt").string()}}}},
        {"transformer", {tiny, pairs}},
        {"unet", {{{"width", 4}}}},
        {"vit", {{{"patch", 4}, {"layers", 2}, {"heads", 2}, {"width", 16}}}},
        {"wide_resnet", {{{"depth", 10}, {"widen", 1}}}},
        {"wide_resnet50_2", large}};
  }();
  return all;
}

bool is_a_component(const std::string& model) {  // and not a model of some test
  const std::string_view file =
      find_component(Registry::of_linked(), ModelKind::name, model).where.file_name();
  return file.find("tests/") == std::string_view::npos;
}

}  // namespace

TEST_CASE("sharded parameters: every model of the registry", "[zero3]") {
  static const auto names = [] {
    auto all = Registry::of_linked().names(ModelKind::name);
    std::erase_if(all, [](const std::string& name) { return !is_a_component(name); });
    return all;
  }();
  const std::string name = GENERATE(from_range(names));
  CAPTURE(name);
  REQUIRE(shortened_models().contains(name));  // a new model needs a line above
  const Shortened& model = shortened_models().at(name);
  if (model.large && !std::getenv("RUNNER_THOROUGH")) SKIP("takes long: RUNNER_THOROUGH=1 runs it");
  Case about;
  about.model = name;
  about.settings = model.settings;
  about.data = model.data;
  about.batches = {4, 4};
  about.optimizer = "sgd";
  // Batch norm sees the batch of one rank, so that one rank would not do the same.
  const Trained ddp = train_on(2, about, 2);
  const std::uint64_t unit_bytes = name == "resnet18" || name == "resnet50" || model.large ? 4000000 : 4000;
  check_close(ddp, train_on(2, sharded(about, unit_bytes), 2));
}

TEST_CASE("sharded parameters: every optimizer of the registry, and its state", "[zero3]") {
  static const auto names = Registry::of_linked().names(OptimizerKind::name);
  const std::string name = GENERATE(from_range(names));
  CAPTURE(name);
  Case about;
  about.optimizer = name;
  const Trained one = train_alone(about);
  // Signs of gradients that are nearly 0, and their roots, may differ.
  const double tolerance = name == "lion" || name == "muon" || name == "rmsprop" ? 1e-2 : 1e-4;
  const Trained three = train_on(2, sharded(about));
  check_close(one, three, tolerance);
  check_close(one.optimizer.tensors, three.optimizer.tensors, 10 * tolerance);
  CHECK(one.optimizer.integers == three.optimizer.integers);
}

TEST_CASE("sharded parameters: what was saved goes on with any number of ranks and any strategy, bit by bit",
          "[zero3]") {
  Case about;
  about.optimizer = GENERATE("adamw", "lamb");
  const Trained saved = train_on(3, sharded(about));
  const Trained nothing_done = train_on(2, sharded(about, 900), 0, &saved);
  CHECK(same_bits(saved.weights, nothing_done.weights));
  CHECK(same_bits(saved.optimizer.tensors, nothing_done.optimizer.tensors));
  CHECK(
      same_bits(saved.average.parts.at("average").tensors, nothing_done.average.parts.at("average").tensors));
  Case zero2 = about;
  zero2.distributed.strategy = RankStrategy::zero2;
  const Trained one = train_alone(about, 2, &saved);
  check_close(one, train_on(4, sharded(about), 2, &saved));
  check_close(one, train_on(2, zero2, 2, &saved));
}

TEST_CASE("sharded parameters: with every precision", "[zero3]") {
  Case about;
  about.settings = {{"layers", 2}, {"heads", 2}, {"width", 32}, {"dropout", 0.0}};
  about.precision = GENERATE("bf16", "fp16", "fp8");
  about.clip_norm.reset();
  about.batches = {8};
  const Trained one = train_on(2, about), many = train_on(2, sharded(about, 20000));
  check_close(one, many, 2e-2);
}

TEST_CASE("sharded parameters: gathered in the compute type, training has the same bits", "[zero3]") {
  // Tied and looked-up weights, layer norm; batch norm; recurrent layers; weights that are not multiplied.
  const std::string name = GENERATE("gpt", "llama", "resnet20", "lstm", "vit", "mobilenet_v2", "torchscript");
  Case about;
  about.model = name;
  about.settings = shortened_models().at(name).settings;
  about.data = shortened_models().at(name).data;
  about.precision = name == "gpt" ? GENERATE("bf16", "fp16") : "bf16";
  about.optimizer = GENERATE("adamw", "lamb");
  about.batches = {5, 3};
  about.clip_norm.reset();  // in the norm, elements are summed in the order of their places
  about.freeze_after = 1;
  CAPTURE(name, about.precision, about.optimizer);
  Case full = sharded(about, 4000), compute = full;
  full.distributed.gather = GatherAs::full;
  compute.distributed.gather = GatherAs::compute;
  const Trained one = train_on(2, full), other = train_on(2, compute);
  CHECK(one.losses == other.losses);
  check_close(one, other, 1e-5);
  check_close(one.optimizer.tensors, other.optimizer.tensors, 1e-5);
  // A fused kernel rounds the last elements of a slice in another way, and slices are cut elsewhere.
  if (about.optimizer == "lamb") {
    CHECK(same_bits(one.weights, other.weights));
    CHECK(same_bits(one.model.tensors, other.model.tensors));
    CHECK(same_bits(one.optimizer.tensors, other.optimizer.tensors));
    CHECK(same_bits(one.average.parts.at("average").tensors, other.average.parts.at("average").tensors));
  }
  for (const auto& [weight, tensor] : other.weights)
    CHECK(tensor.scalar_type() != *part<PrecisionKind>(about.precision).facts().weights_cast_to);
}

TEST_CASE("sharded parameters: a compute type that no layer is given is refused", "[zero3]") {
  Case about = sharded({});
  about.distributed.gather = GatherAs::compute;
  const auto errors = try_on_ranks(2, [&](World& world) { train(world, about); });
  CHECK_THAT(message_of(errors[0]), Catch::Matchers::ContainsSubstring("needs a precision that casts"));
}

TEST_CASE("sharded parameters: on disk, training has the same bits, whatever the optimizer", "[zero3]") {
  static const auto names = Registry::of_linked().names(OptimizerKind::name);
  const TemporaryFolder folder;
  Case about;
  about.optimizer = GENERATE(from_range(names));
  about.settings = {{"layers", 2}, {"heads", 2}, {"width", 160}, {"bias", false}};  // from 64 KiB on
  about.precision = "bf16";
  CAPTURE(about.optimizer);
  about = sharded(about, 400000);
  Case on_disk = about;
  on_disk.distributed.offload = Offload::disk;
  on_disk.distributed.offload_dir = folder.path();
  const Trained one = train_on(2, about), other = train_on(2, on_disk);
  CHECK(one.losses == other.losses);
  CHECK(same_bits(one.weights, other.weights));
  CHECK(same_bits(one.optimizer.tensors, other.optimizer.tensors));
  // And continues.
  const Trained later = train_on(2, about, 1, &one), later_on_disk = train_on(2, on_disk, 1, &other);
  CHECK(same_bits(later.weights, later_on_disk.weights));
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("sharded parameters: frozen in the middle of a run", "[zero3]") {
  Case about;
  about.freeze_after = 1;
  check_close(train_alone(about), train_on(3, sharded(about)));
}

TEST_CASE("sharded parameters: policies change when weights are gathered, and nothing else", "[zero3]") {
  Case about, other;
  about = sharded(about);
  other = about;
  const std::string policy = GENERATE("no prefetch", "kept after forward", "memory may run out");
  CAPTURE(policy);
  if (policy == "no prefetch") other.distributed.prefetch = false;
  if (policy == "kept after forward") other.distributed.reshard_after_forward = false;
  if (policy == "memory may run out") other.on_full = OnOutOfMemory::split;
  const Trained one = train_on(2, about), two = train_on(2, other);
  CHECK(same_bits(one.weights, two.weights));
}

TEST_CASE("sharded parameters: groups of ranks with a copy each train as one does", "[zero3]") {
  Case about;
  about.optimizer = GENERATE("adamw", "lamb");
  const int group = GENERATE(1, 2);
  Case grouped = sharded(about);
  grouped.distributed.shard_group = group;
  const Trained one = train_alone(about), many = train_on(4, grouped);
  check_close(one, many);
  check_close(one.optimizer.tensors, many.optimizer.tensors, 1e-3);
  grouped.distributed.shard_group = 2;
  const auto errors = try_on_ranks(3, [&](World& world) { train(world, grouped); });
  CHECK_THAT(message_of(errors[0]),
             Catch::Matchers::ContainsSubstring("must divide the number of ranks (3)"));
  grouped.distributed.shard_group = 8;
  const auto too_few = try_on_ranks(2, [&](World& world) { train(world, grouped); });
  CHECK_THAT(message_of(too_few[0]),
             Catch::Matchers::ContainsSubstring("must divide the number of ranks (2)"));
}

TEST_CASE("sharded parameters: compressed gradients come close", "[zero3]") {
  Case about = sharded({}), compressed = about;
  compressed.distributed.compression = GENERATE(Compression::fp16, Compression::bf16);
  const Trained exact = train_on(2, about), rounded = train_on(2, compressed);
  CHECK_FALSE(same_bits(exact.weights, rounded.weights));
  CHECK_THAT(rounded.losses.back(), Catch::Matchers::WithinRel(exact.losses.back(), 0.05));
}

TEST_CASE("sharded parameters: units keep modules together, and only a single parameter is larger",
          "[zero3]") {
  const auto model = make("gpt", tiny, windows);
  std::size_t count = 0;
  for (const std::uint64_t most : {500, 4000, 100000}) {
    std::vector<std::string> names;
    for (const auto& unit : cut_into_units(*model, most)) {
      std::uint64_t bytes = 0;
      for (const auto& [name, parameter] : unit) {
        bytes += parameter.nbytes();
        names.push_back(name);
      }
      CHECK((bytes <= most || unit.size() == 1));
    }
    CHECK(names == model->named_parameters().keys());
    count = cut_into_units(*model, most).size();
  }
  CHECK(count == 1);
  const auto blocks = cut_into_units(*model, 4000);
  const auto in_first_block = [](const NamedTensor& each) {
    return each.name.find(".h.0.") != std::string::npos;
  };
  CHECK(std::ranges::count_if(
            blocks, [&](const auto& unit) { return std::ranges::any_of(unit, in_first_block); }) == 1);
  auto units = cut_into_units(*model, 4000);
  const auto multiplied = put_multiplied_first(units, *model);
  for (std::size_t i = 0; i < units.size(); ++i) {
    CHECK(units[i].size() == blocks[i].size());
    for (std::size_t p = 0; p < units[i].size(); ++p) {
      const auto& [name, parameter] = units[i][p];
      const bool table = name.find("wte") != std::string::npos || name.find("wpe") != std::string::npos;
      CHECK((p < multiplied[i]) == (parameter.dim() == 2 && !table));
    }
  }
  torch::nn::Sequential mixed(torch::nn::Linear(2, 2), torch::nn::Linear(2, 2));
  mixed[1]->to(torch::kDouble);
  CHECK(cut_into_units(*mixed, 1000).size() == 2);
}

TEST_CASE("sharded parameters: ranks that run different parts of the model help each other", "[zero3]") {
  const std::optional<torch::ScalarType> cast =
      GENERATE(std::optional<torch::ScalarType>(), std::optional(torch::kBFloat16));
  on_ranks(3, [&](World& world) {
    const auto model = make("mlp", {{"hidden", Setting::list({8, 8, 8})}}, images);
    std::map<std::string, torch::Tensor> whole;
    for (const auto& item : model->named_parameters()) whole[item.key()] = item.value().detach().clone();
    Sharding sharding(world, *model, {.unit_bytes = 300, .cast = cast});
    // Each rank reads the layers in an order of its own, and rank 2 reads none.
    const auto names = model->named_parameters().keys();
    const auto step = static_cast<std::size_t>(world.rank() == 0 ? 1 : 3);
    if (world.rank() < 2) {
      const ForwardPass pass(&sharding);
      for (std::size_t i = 0; i < names.size(); ++i) {
        const std::string& name = names[i * step % names.size()];
        require(torch::equal(model->named_parameters()[name].add(0), whole.at(name)), name);
      }
    }
    sharding.parameters.join();
  });
}

TEST_CASE("sharded parameters: what a pass writes into parameters stays", "[zero3]") {
  const std::optional<torch::ScalarType> cast =
      GENERATE(std::optional<torch::ScalarType>(), std::optional(torch::kBFloat16));
  on_ranks(2, [&](World& world) {
    const auto model = make("mlp", {}, images);
    Sharding sharding(world, *model, {.unit_bytes = 3000, .cast = cast});
    {
      const torch::NoGradGuard no_grad;
      const ForwardPass pass(&sharding);
      const AutocastScope autocast(torch::kCPU, torch::kBFloat16);
      const NoAutocastCache no_cache;  // which would not notice
      const torch::Tensor input = torch::ones({1, model->parameters()[0].size(1)});
      torch::linear(input, model->parameters()[0]);  // gathered, and out of date once it is written to
      for (const torch::Tensor& parameter : model->parameters()) parameter.fill_(2);
      const torch::Tensor output = torch::linear(input, model->parameters()[0]);
      require(output.eq(2 * input.numel()).all().item<bool>(), "autocast gets what was written");
    }
    sharding.parameters.join();
    sharding.weights.visit(
        [](const std::string& name, const torch::Tensor& value, const torch::Tensor& gradient) {
          require(value.eq(2).all().item<bool>() && !gradient.defined(), name);
        });
  });
}

TEST_CASE("sharded parameters: an operator that only reads a parameter does not write it back", "[zero3]") {
  on_ranks(2, [](World& world) {
    const auto model = make("mlp", {}, images);
    Sharding sharding(world, *model, {.unit_bytes = 3000});
    const torch::NoGradGuard no_grad;
    const auto parameters = model->named_parameters();
    {
      const ForwardPass pass(&sharding);
      const torch::Tensor& bias = parameters["fc1.bias"];
      torch::Tensor activation = torch::zeros_like(bias);
      activation.add_(bias);  // gathers it
      const torch::Tensor slice = sharding.parameters.slice_of(bias);
      {
        const OperatorModePause pause;
        slice.fill_(7);
      }
      activation.add_(bias);
      const OperatorModePause pause;
      require(slice.eq(7).all().item<bool>(), "the slice is as it was");
    }
    sharding.parameters.join();
  });
}

TEST_CASE("sharded parameters: every rank saves a part, whole tensors, and none of them twice", "[zero3]") {
  Case about;
  about.optimizer = GENERATE("adamw", "lamb");
  const auto saved = train_each(3, sharded(about, 900));
  const Trained one = train_alone(about);
  const auto check = [](const std::vector<const State*>& parts, const State& whole) {
    std::int64_t most = 0;
    std::size_t count = 0;
    for (const State* part : parts) {
      count += part->tensors.size();
      most = std::max(most, part->bytes());
      for (const auto& [name, tensor] : part->tensors)
        CHECK(tensor.sizes() == whole.tensors.at(name).sizes());
    }
    CHECK(count == whole.tensors.size());
    CHECK(most < whole.bytes() / 2);  // a third, as far as units can be shared out
  };
  check({&saved[0].model, &saved[1].model, &saved[2].model}, one.model);
  check({&saved[0].optimizer, &saved[1].optimizer, &saved[2].optimizer}, one.optimizer);
  check({&saved[0].average.parts.at("average"), &saved[1].average.parts.at("average"),
         &saved[2].average.parts.at("average")},
        one.average.parts.at("average"));
}
