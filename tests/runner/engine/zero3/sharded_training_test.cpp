#include <torch/nn.h>
#include <torch/script.h>

#include "registry/registry.hpp"
#include "runner/engine/zero3/sharding.hpp"
#include "tests/support/files.hpp"
#include "tests/support/sharded_training.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/thorough.hpp"

using namespace runner;
using namespace runner::testing;
using namespace runner::testing::sharded_training;

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
  std::uint64_t unit_bytes = 4000;
};

// Models of the components, by name: small where they can be.
const std::map<std::string, Shortened>& shortened_models() {
  static const TemporaryFolder folder;
  static const std::map<std::string, Shortened> all = [] {
    save_script(folder / "net.pt");
    write_file(folder / "config.json",
               R"({"model_type": "qwen3", "hidden_size": 8, "intermediate_size": 8, "vocab_size": 11,)"
               R"( "num_hidden_layers": 2, "num_attention_heads": 2, "max_position_embeddings": 8})");
    const Shortened cifar{{{"stem", "cifar"}}, images, false, 4000000},
        large{{{"stem", "cifar"}}, images, true, 4000000};
    return std::map<std::string, Shortened>{
        {"autoencoder", {}},
        {"bert", {tiny, sentences}},
        {"decoder", {{{"config", folder.path().string()}}, windows}},
        {"gpt", {{{"layers", 2}, {"heads", 2}, {"width", 8}, {"checkpoint_activations", true}}, windows}},
        {"llama", {{{"layers", 2}, {"heads", 2}, {"width", 8}}, windows}},
        {"lstm", {{}, sentences}},
        {"mlp", {}},
        {"mobilenet_v2", {{{"width", 0.1}, {"stem", "cifar"}, {"dropout", 0.0}}}},
        {"resnet18", cifar},
        {"resnet20", {}},
        {"resnet32", {{}, images, true}},
        {"resnet34", large},
        {"resnet44", {{}, images, true}},
        {"resnet50", large},
        {"resnet56", {{}, images, true}},
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
  if (name == "exported") SKIP("its file is Python's: tests/python/test_exported_runs.py trains it on zero3");
  REQUIRE(shortened_models().contains(name));  // a new model needs a line above
  const Shortened& model = shortened_models().at(name);
  if (model.large && !thorough()) SKIP(takes_long);
  Case about;
  about.model = name;
  about.settings = model.settings;
  about.data = model.data;
  about.batches = {4, 4};
  about.optimizer = "sgd";
  // Batch norm sees the batch of one rank, so that one rank would not do the same.
  const Trained ddp = train_on(2, about, 2);
  // Small differences of rounding grow in many layers of batch norm over two examples.
  check_close(ddp, train_on(2, sharded(about, model.unit_bytes), 2), model.large ? 1e-2 : 1e-4);
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
  about.optimizer = GENERATE("lamb", "adamw");
  if (about.optimizer == "adamw" && name != "gpt" && !thorough()) SKIP(takes_long);
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
  static const auto names = thorough() ? Registry::of_linked().names(OptimizerKind::name)
                                       : std::vector<std::string>{"adamw", "lamb", "muon"};
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
