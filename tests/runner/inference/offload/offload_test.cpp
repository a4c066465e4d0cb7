#include <ATen/autocast_mode.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <catch2/catch_all.hpp>
#include <fstream>

#include "components/models/language_model.hpp"
#include "components/models/support/load_weights.hpp"
#include "components/models/support/model_weights.hpp"
#include "components/support/precision/autocast.hpp"
#include "components/support/weights/safetensors.hpp"
#include "components/support/weights/sharded_safetensors.hpp"
#include "runner/hollow_model.hpp"
#include "runner/inference/generate.hpp"
#include "runner/inference/load_run.hpp"
#include "runner/parts.hpp"
#include "runner/resolve.hpp"
#include "runner/run_folder/data_spec_file.hpp"
#include "tests/runner/cli/program.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/thorough.hpp"

using namespace runner;
using namespace runner::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

const DataSpec windows{
    .input_shape = {6}, .input_type = torch::kInt64, .target_shape = {6}, .classes = 11, .vocabulary = 11};
const DataSpec sentences{.input_shape = {6}, .input_type = torch::kInt64, .classes = 3, .vocabulary = 11};
const DataSpec images{.input_shape = {3, 16, 16}, .classes = 5};
const DataSpec pairs{.input_shape = {6}, .input_type = torch::kInt64, .target_shape = {4}, .vocabulary = 11};
const DataSpec rows{.input_shape = {4}, .classes = 2, .categories = {3, 20}};

Batch examples(const DataSpec& data) {
  torch::manual_seed(5);
  const auto numbers = [&](std::vector<std::int64_t> shape, std::int64_t below) {
    shape.insert(shape.begin(), 3);
    return below > 0 ? torch::randint(1, below, shape, torch::kInt64) : torch::randn(shape);
  };
  Batch batch{numbers(data.input_shape, data.input_type == torch::kInt64 ? 11 : 0),
              numbers(data.target_shape, 2)};
  if (!data.categories.empty())
    batch.extra["categories"] = numbers({static_cast<std::int64_t>(data.categories.size())}, 3);
  return batch;
}

Registry& registry() {
  static Registry linked = Registry::of_linked();
  return linked;
}

TrainedRun loaded(const TrainedSource& source) {
  Diagnostics diagnostics;
  auto run = load_run(source, registry(), diagnostics);
  if (!run) throw std::runtime_error(render(diagnostics));
  return std::move(*run);
}

void write(const std::filesystem::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary) << text;
}

// A run folder as training leaves it, with random weights.
void leave_run(const TemporaryFolder& folder, const std::string& model, const DataSpec& data,
               const std::string& more = "") {
  write(folder / "recipe.toml", "model = { " + model + " }\n" + more + R"(
dataset = { name = "tensors", train = "nowhere/train.safetensors", eval = "nowhere/eval.safetensors" }
optimizer = { name = "sgd", lr = 0.1 }
train = { max_steps = 1 }
)");
  write(folder / "data_spec.json", write_data_spec(data));
  Diagnostics diagnostics;
  const auto resolved = resolve_recipe({folder / "recipe.toml", {}, {}}, registry(), diagnostics);
  if (!resolved) throw std::runtime_error(render(diagnostics));
  const Recipe recipe = decode_table<Recipe>(*resolved, registry());
  torch::manual_seed(1);
  const std::shared_ptr<Model> built = recipe.model.build({data});
  const torch::NoGradGuard no_grad;
  for (torch::Tensor& parameter : built->parameters()) parameter.add_(torch::randn_like(parameter), 0.1);
  save_weights(ModelWeights(*built).all(), folder / "model.safetensors");
}

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
  const std::map<std::string, Case> cases{{"autoencoder", {}},
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
    if (file.find("tests/") != std::string_view::npos || name == "torchscript") continue;
    CAPTURE(name);
    REQUIRE(cases.contains(name));  // a new model needs a line above
    const auto& [settings, data, large] = cases.at(name);
    if (large && !thorough()) continue;
    const TemporaryFolder folder;
    leave_run(folder, "name = \"" + name + "\"" + (settings.empty() ? "" : ", " + settings), data);
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
  leave_run(folder, "name = \"gpt\", layers = 6, heads = 2, width = 16", windows);
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
  leave_run(folder, "name = \"" + name + "\", layers = 3, heads = 2, width = 16", windows);
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
  leave_run(folder, "name = \"gpt\", layers = 2, heads = 2, width = 8", windows, more);
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
  leave_run(folder, "name = \"torchscript\", file = \"net.pt\"", images);
  TrainedRun whole = loaded({.run = folder.path()});
  TrainedRun run = loaded({.run = folder.path(), .offload = OffloadOptions{.unit_bytes = small_units}});
  CHECK(torch::equal(output_of(run, images), output_of(whole, images)));
}

TEST_CASE("offload: some weights stay in memory where the device map says so", "[offload]") {
  const TemporaryFolder folder;
  leave_run(folder, "name = \"gpt\", layers = 4, heads = 2, width = 16", windows);
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

TEST_CASE("offload: from the command line", "[offload][cli]") {
  const TemporaryFolder folder;
  leave_run(folder, "name = \"mlp\"", images);
  const std::string run = folder.path().string();
  write_safetensors(folder / "x.safetensors", {{"input", examples(images).input}});
  const auto predicted = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"predict", run, (folder / "x.safetensors").string()});
    const auto outcome = Program{}.run(words);
    INFO(outcome.err);
    CHECK(outcome.code == 0);
    return outcome.out;
  };
  const std::string expected = predicted({});
  CHECK(predicted({"--offload"}) == expected);
  CHECK(predicted({"--offload", "--device-map", "fc1=cpu"}) == expected);
  CHECK(predicted({"--offload", "--device-map", "auto"}) == expected);

  // A file of Python's torch.save as well.
  const std::string pickled = (folder / "model.pt").string();
  CHECK(Program{}.run({"export", run, "-o", pickled}).code == 0);
  CHECK(predicted({"--weights", pickled}) == expected);
  CHECK(predicted({"--weights", pickled, "--offload"}) == expected);

  const auto alone = Program{}.run({"predict", run, "x", "--device-map", "auto"});
  CHECK(alone.code == 2);
  CHECK_THAT(alone.err, ContainsSubstring("add --offload"));
  for (const std::string command : {"predict", "sample", "eval"}) {
    std::vector<std::string> words{command, run, "--offload", "--device-map", "cpu"};
    if (command == "predict") words.push_back("x");
    const auto wrong = Program{}.run(words);
    CHECK(wrong.code == 2);
    CHECK_THAT(wrong.err, ContainsSubstring("PATTERN=DEVICE"));
  }
}

TEST_CASE("offload: evaluating gives the same numbers", "[offload][cli]") {
  const TemporaryFolder folder;
  leave_run(folder, "name = \"simple_cnn\"", images);
  write(folder / "recipe.toml", R"(
model = { name = "simple_cnn" }
dataset = { name = "synthetic", classes = 5, shape = [3, 16, 16], train = 20, eval = 30 }
optimizer = { name = "adamw" }
loader = { batch_size = 8 }
train = { max_steps = 1 }
eval = { metric = [{ name = "accuracy" }, { name = "loss" }] }
)");
  const auto evaluated = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"eval", "--json"});
    const auto outcome = Program{}.run(words);
    INFO(outcome.err);
    CHECK(outcome.code == 0);
    return outcome.out;
  };
  const std::string run = folder.path().string();
  CHECK(evaluated({run, "--offload"}) == evaluated({run}));
  const std::string recipe = (folder / "recipe.toml").string();
  CHECK_THROWS_WITH(Program{}.run({"eval", recipe, "--offload"}), ContainsSubstring("--weights FILE"));
  CHECK_THROWS_WITH(Program{}.run({"eval", recipe, "--offload", "model.strict=false",
                                   "model.weights=" + (folder / "model.safetensors").string()}),
                    ContainsSubstring("model.strict"));
}
