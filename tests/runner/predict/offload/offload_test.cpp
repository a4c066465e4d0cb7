#include <ATen/autocast_mode.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <catch2/catch_all.hpp>

#include "components/models/language_model.hpp"
#include "components/models/weights/load_weights.hpp"
#include "components/precisions/autocast.hpp"
#include "components/weights/safetensors.hpp"
#include "components/weights/sharded_safetensors.hpp"
#include "runner/inspect/hollow_model.hpp"
#include "runner/predict/generate.hpp"
#include "runner/recipe/parts.hpp"
#include "tests/runner/predict/trained_runs.hpp"
#include "tests/support/files.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/thorough.hpp"

using namespace runner;
using namespace runner::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

torch::Tensor output_of(TrainedRun& run, const DataSpec& data) {
  Batch batch = examples(data);
  const OffloadedPass pass = run.pass();
  return run.engine.predict(batch);
}

bool has_memory(const torch::Tensor& tensor) {  // asked for directly, the data of one without any throws
  return tensor.storage().unsafeGetStorageImpl()->_mutable_data_ptr_no_checks().get() != nullptr;
}

// Initialised in a temporary file, a model is the one that is initialised in memory.
void require_same_initial_bits(const Recipe& recipe, const DataSpec& data,
                               const std::filesystem::path& folder) {
  const auto expected = build_bare_model(recipe, data),
             spooled = build_spooled_model(recipe, data, folder, 1);
  const auto parameters = spooled->named_parameters();
  for (const auto& item : expected->named_parameters()) {
    INFO(item.key());
    CHECK(torch::equal(parameters[item.key()], item.value()));
  }
}

constexpr std::uint64_t small_units = 2000;

}  // namespace

TEST_CASE("offload: every model of the registry gives the same bits", "[offload]") {
  struct Case {
    std::string settings = {};
    DataSpec data = images;
    bool large = false;  // only where RUNNER_THOROUGH is set
  };
  const TemporaryFolder facts;
  testing::write_file(facts / "config.json",
                      R"({"model_type": "qwen3", "hidden_size": 8, "intermediate_size": 8, "vocab_size": 11,)"
                      R"( "num_hidden_layers": 2, "num_attention_heads": 2, "max_position_embeddings": 8})");
  const std::map<std::string, Case> cases{
      {"autoencoder", {}},
      {"decoder", {"config = \"" + facts.path().string() + "\"", windows}},
      {"bert", {"layers = 2, heads = 2, width = 8", sentences}},
      {"gpt", {"layers = 2, heads = 2, width = 8", windows}},
      {"llama", {"layers = 2, heads = 2, width = 8", windows}},
      {"lstm", {"", sentences}},
      {"mlp", {}},
      {"mobilenet_v2", {"width = 0.1, stem = \"cifar\""}},
      {"resnet18", {"stem = \"cifar\""}},
      {"resnet20", {}},
      {"resnet32", {}},
      {"resnet34", {"stem = \"cifar\"", images, true}},
      {"resnet44", {}},
      {"resnet50", {"stem = \"cifar\""}},
      {"resnet56", {}},
      {"resnet101", {"stem = \"cifar\"", images, true}},
      {"simple_cnn", {}},
      {"tabular", {"", rows}},
      {"text_mean", {"", sentences}},
      {"transformer", {"layers = 2, heads = 2, width = 8", pairs}},
      {"unet", {"width = 4"}},
      {"vit", {"patch = 4, layers = 2, heads = 2, width = 16"}},
      {"wide_resnet", {"depth = 10, widen = 1"}},
      {"wide_resnet50_2", {"stem = \"cifar\"", images, true}}};
  for (const std::string& name : registry().names(ModelKind::name)) {
    const std::string_view file = find_component(registry(), ModelKind::name, name).where.file_name();
    if (file.find("tests/") != std::string_view::npos || name == "torchscript" || name == "exported")
      continue;
    CAPTURE(name);
    REQUIRE(cases.contains(name));  // a new model needs a line above
    const auto& [settings, data, large] = cases.at(name);
    if (large && !thorough()) continue;
    const TemporaryFolder folder;
    leave_run(folder.path(), "name = \"" + name + "\"" + (settings.empty() ? "" : ", " + settings), data);
    TrainedRun whole = loaded({.run = folder.path()});
    const torch::Tensor expected = output_of(whole, data);
    TrainedRun run = loaded({.run = folder.path(), .offload = OffloadOptions{.unit_bytes = small_units}});
    for (int pass = 0; pass < 2; ++pass) CHECK(torch::equal(output_of(run, data), expected));
    require_same_initial_bits(whole.recipe, data, folder.path());
    for (const auto& item : run.model->named_parameters()) {
      INFO(item.key());
      CHECK(item.value().strides() == whole.model->named_parameters()[item.key()].strides());
    }
  }
}

TEST_CASE("offload: no more than two units, or one large tensor and a unit, are in memory", "[offload]") {
  const TemporaryFolder folder;
  leave_run(folder.path(), "name = \"gpt\", layers = 6, heads = 2, width = 16", windows);
  constexpr std::uint64_t unit = 8000;
  TrainedRun run = loaded({.run = folder.path(), .offload = OffloadOptions{.unit_bytes = unit}});
  const auto all = static_cast<std::int64_t>(std::filesystem::file_size(folder / "model.safetensors"));
  REQUIRE(all > 6 * static_cast<std::int64_t>(unit));
  for (int pass = 0; pass < 3; ++pass) output_of(run, windows);
  CHECK(run.offloaded->peak_bytes() > 0);
  CHECK(run.offloaded->peak_bytes() <= 2 * static_cast<std::int64_t>(unit));
  // Nothing of it stays readable by accident.
  std::size_t without_memory = 0;
  for (const torch::Tensor& parameter : run.model->parameters())
    without_memory += has_memory(parameter) ? 0 : 1;
  CHECK(without_memory > run.model->parameters().size() / 2);
}

TEST_CASE("offload: text is sampled with the same bits", "[offload][sample]") {
  const std::string name = GENERATE("gpt", "llama");
  const TemporaryFolder folder;
  leave_run(folder.path(), "name = \"" + name + "\", layers = 3, heads = 2, width = 16", windows);
  const auto text = [&](const std::optional<OffloadOptions>& offload) {
    const TrainedRun run = loaded({.run = folder.path(), .offload = offload});
    const OffloadedPass pass = run.pass();
    return generate(dynamic_cast<LanguageModel&>(*run.model), torch::kCPU, {3, 1, 4},
                    {.tokens = 30, .choice = {.temperature = 1.5}, .seed = 9}, [](std::int64_t) {});
  };
  CHECK(text(OffloadOptions{.unit_bytes = small_units}) == text(std::nullopt));
}

TEST_CASE("offload: other number formats, layouts and files than the model's own", "[offload]") {
  const TemporaryFolder folder;
  const std::string more = GENERATE("", "precision = \"bf16\"\n");
  leave_run(folder.path(), "name = \"gpt\", layers = 2, heads = 2, width = 8", windows, more);
  auto tensors = read_safetensors(folder / "model.safetensors");
  const bool as_nanogpt = GENERATE(false, true);  // linear layers transposed, in bf16
  for (auto& [name, tensor] : tensors) {
    if (!as_nanogpt) break;
    if (name.ends_with("c_attn.weight") || name.ends_with("c_proj.weight") || name.ends_with("c_fc.weight"))
      tensor = tensor.t();
    tensor = tensor.to(torch::kBFloat16);
  }
  std::filesystem::remove(folder / "model.safetensors");
  std::filesystem::create_directory(folder / "weights");
  write_sharded_safetensors(folder / "weights", "model", {tensors.begin(), tensors.end()}, 1000);
  const std::string weights = (folder / "weights").string();
  TrainedRun whole = loaded({.run = folder.path(), .weights = weights});
  TrainedRun run = loaded(
      {.run = folder.path(), .weights = weights, .offload = OffloadOptions{.unit_bytes = small_units}});
  CHECK(torch::equal(output_of(run, windows), output_of(whole, windows)));
}

TEST_CASE("offload: a TorchScript module", "[offload]") {
  const TemporaryFolder folder;
  torch::jit::Module layer("layer"), net("net");
  layer.register_parameter("weight", torch::rand({40, 768}).requires_grad_(), false);
  layer.define("def forward(self, x):\n  return torch.linear(torch.flatten(x, 1), self.weight, None)\n");
  net.register_module("layer", layer);
  net.register_parameter("head", torch::rand({5, 40}).requires_grad_(), false);
  net.define("def forward(self, x):\n  return torch.linear(self.layer.forward(x), self.head, None)\n");
  net.save((folder / "net.pt").string());
  leave_run(folder.path(), "name = \"torchscript\", file = \"net.pt\"", images);
  TrainedRun whole = loaded({.run = folder.path()});
  TrainedRun run = loaded({.run = folder.path(), .offload = OffloadOptions{.unit_bytes = small_units}});
  CHECK(torch::equal(output_of(run, images), output_of(whole, images)));
}

TEST_CASE("offload: some weights stay in memory where the device map says so", "[offload]") {
  const TemporaryFolder folder;
  leave_run(folder.path(), "name = \"gpt\", layers = 4, heads = 2, width = 16", windows);
  TrainedRun whole = loaded({.run = folder.path()});
  const torch::Tensor expected = output_of(whole, windows);
  const auto with = [&](const std::string& map) {
    OffloadOptions options{.map = parse_device_map(map), .unit_bytes = 8000};
    return loaded({.run = folder.path(), .offload = options});
  };
  const auto in_memory = [](const TrainedRun& run) {
    std::set<std::string> names;
    for (const auto& item : run.model->named_parameters())
      if (has_memory(item.value())) names.insert(item.key());
    return names;
  };
  TrainedRun everything = with("*=cpu"), automatic = with("auto"),
             some = with("transformer.h.1=cpu,*.bias=cpu");
  CHECK(in_memory(everything).size() == whole.model->parameters().size());
  CHECK(in_memory(automatic).size() == whole.model->parameters().size());  // there is room for so little
  const auto kept = in_memory(some);
  for (const auto& item : some.model->named_parameters()) {
    INFO(item.key());
    CHECK(kept.contains(item.key()) ==
          (item.key().starts_with("transformer.h.1.") || item.key().ends_with(".bias")));
  }
  for (TrainedRun* run : {&everything, &automatic, &some})
    CHECK(torch::equal(output_of(*run, windows), expected));
  CHECK(everything.offloaded->peak_bytes() == 0);
  CHECK_THROWS_WITH(with("transformer.g=cpu"), ContainsSubstring("transformer.g"));
  CHECK_THROWS_WITH(with("*=cuda:99"), ContainsSubstring("cuda"));
}

// No second device is at hand: LibTorch's meta device shows where operators run.
TEST_CASE("offload: operators run where their weights are", "[offload]") {
  const TemporaryFolder folder;
  write_safetensors(
      folder / "w.safetensors",
      {{"near", torch::ones({2, 3})}, {"far", torch::ones({4, 2})}, {"last", torch::ones({4})}});
  WeightFiles files = read_weight_files(folder / "w.safetensors");
  const torch::Tensor near = torch::empty({2, 3}), far = torch::empty({4, 2}), last = torch::empty({4});
  std::vector<OffloadedWeights::Placed> units{{{{"near", near, files.tensors.at("near")}}, "disk"},
                                              {{{"far", far, files.tensors.at("far")}}, "meta"},
                                              {{{"last", last, files.tensors.at("last")}}, "cpu"}};
  OffloadedWeights weights(std::move(files), units, torch::kCPU, torch::MemoryFormat::Contiguous);
  weights.load();
  CHECK(has_memory(last));
  const torch::NoGradGuard no_grad;
  const OffloadedPass pass(&weights);
  const torch::Tensor input = torch::ones({5, 3});
  const torch::Tensor first = torch::linear(input, near);
  CHECK(first.is_cpu());
  CHECK(torch::equal(first, torch::full({5, 2}, 3.0)));
  const torch::Tensor second = torch::linear(first, far);
  CHECK(second.is_meta());
  CHECK(second.sizes() == torch::IntArrayRef({5, 4}));
  // These would be refused where they are.
  CHECK((first.select(1, 0) * far.select(1, 0).narrow(0, 0, 1)).is_meta());
  CHECK((second + torch::ones({5, 4})).is_meta());
  CHECK(torch::ones({5, 4}, torch::kMeta).add_(first.sum()).is_meta());  // a number may come from the CPU
  torch::Tensor written = torch::zeros({5, 2});
  CHECK(written.add_(first).is_cpu());
  CHECK(torch::equal(written, first));
}

TEST_CASE("offload: autocast keeps no copies of weights that are gone", "[offload]") {
  const TemporaryFolder folder;
  write_safetensors(folder / "w.safetensors",
                    {{"0", torch::ones({3, 3})}, {"1", torch::ones({3, 3})}, {"2", torch::ones({3, 3})}});
  WeightFiles files = read_weight_files(folder / "w.safetensors");
  std::vector<torch::Tensor> layers;
  std::vector<OffloadedWeights::Placed> units;
  for (const std::string name : {"0", "1", "2"}) {
    layers.push_back(torch::empty({3, 3}, torch::requires_grad()));
    units.push_back({{{name, layers.back(), files.tensors.at(name)}}, "disk"});
  }
  OffloadedWeights weights(std::move(files), units, torch::kCPU, torch::MemoryFormat::Contiguous);
  weights.load();
  const torch::NoGradGuard no_grad;
  const AutocastScope autocast(torch::kCPU, torch::kBFloat16);
  {
    const OffloadedPass pass(&weights);
    torch::Tensor x = torch::ones({2, 3});
    for (const torch::Tensor& layer : layers) x = torch::linear(x, layer);
    CHECK(x.scalar_type() == torch::kBFloat16);
  }
  REQUIRE_FALSE(has_memory(layers.front()));
  // A copy that was kept would come back; a new one cannot be made.
  CHECK_THROWS_WITH(at::autocast::cached_cast(torch::kBFloat16, layers.front(), torch::kCPU),
                    ContainsSubstring("--offload"));
}
