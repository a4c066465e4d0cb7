// A hook that saves the model in formats of its own. It is registered, so that resume_test.cpp also continues
// a run with it.
#include <catch2/catch_all.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "components/hooks/hook.hpp"
#include "components/weights/safetensors.hpp"
#include "runner/checkpoint/checkpoint.hpp"
#include "runner/resolve/resolve.hpp"
#include "runner/train/train_recipe.hpp"
#include "tests/support/recipes.hpp"

using namespace runner;
using namespace runner::testing;
namespace fs = std::filesystem;

namespace {

struct TwoFolders {};
constexpr auto describe(std::type_identity<TwoFolders>) { return fields(); }

// The first layer as the encoder, all others as the head.
class TwoFoldersHook final : public Hook {
 public:
  void before_save(ModelStates& models, const fs::path& folder) override {
    std::vector<std::pair<std::string, torch::Tensor>> encoder;
    fs::create_directories(folder / "encoder");
    fs::create_directories(folder / "head/raw");
    std::ofstream index(folder / "head/index.txt");
    for (const auto& [name, tensor] : models.at("model").tensors) {
      if (name.starts_with("fc1.")) {
        encoder.emplace_back(name, tensor);
        continue;
      }
      index << name;
      for (const std::int64_t size : tensor.sizes()) index << ' ' << size;
      index << '\n';
      std::ofstream(folder / "head/raw" / name, std::ios::binary)
          .write(static_cast<const char*>(tensor.const_data_ptr()),
                 static_cast<std::streamsize>(tensor.nbytes()));
    }
    write_safetensors(folder / "encoder/weights.safetensors", encoder);
    models.erase("model");
  }

  void before_load(ModelStates& models, const fs::path& folder) override {
    State& model = models["model"];
    model.tensors = read_safetensors(folder / "encoder/weights.safetensors");
    std::ifstream index(folder / "head/index.txt");
    for (std::string line; std::getline(index, line);) {
      std::istringstream words(line);
      std::string name;
      words >> name;
      std::vector<std::int64_t> shape;
      for (std::int64_t size = 0; words >> size;) shape.push_back(size);
      const torch::Tensor tensor = torch::empty(shape);
      std::ifstream(folder / "head/raw" / name, std::ios::binary)
          .read(static_cast<char*>(tensor.data_ptr()), static_cast<std::streamsize>(tensor.nbytes()));
      model.tensors[name] = tensor;
    }
  }
};

std::unique_ptr<Hook> build(const TwoFolders&, const HookInputs&) {
  return std::make_unique<TwoFoldersHook>();
}
const Registration<HookKind> registration{"two_folders", "Saves the model in two folders.", &build};

}  // namespace

TEST_CASE("save hooks: a recipe's checkpoint in formats of its own, with checksums", "[checkpoint][hooks]") {
  const Recipes files(R"(
[model]
name = "mlp"
hidden = [8, 8]
[dataset]
name = "synthetic"
shape = [4]
train = 32
eval = 8
[optimizer]
name = "sgd"
lr = 0.01
[train]
max_steps = 2
[[hook]]
name = "two_folders"
)");
  Registry registry = Registry::of_linked();
  Diagnostics found;
  const std::string run = (files.folder / "run").string();
  const auto resolved = resolve_recipe({files.folder / "main.toml", {}, {"run.dir=" + run}}, registry, found);
  INFO(render(found));
  REQUIRE(resolved);
  World alone;
  train_recipe(*resolved, registry, alone, {.quiet = true});

  const fs::path checkpoint = fs::path(run) / "checkpoints/step-00000002";
  CHECK_FALSE(fs::exists(checkpoint / "model.safetensors"));
  CHECK(fs::exists(checkpoint / "optimizer.safetensors"));
  const auto manifest = nlohmann::json::parse(std::ifstream(checkpoint / "manifest.json"));
  const auto listed = manifest.at("files");
  CHECK(listed.contains("encoder/weights.safetensors"));
  CHECK(listed.contains("head/index.txt"));
  CHECK(listed.contains("head/raw/fc3.weight"));
  CHECK(damage_of(checkpoint).empty());
  for (const auto& entry : fs::directory_iterator(fs::path(run) / "checkpoints"))
    CHECK_FALSE(entry.path().filename().string().starts_with(".unfinished"));

  std::ofstream(checkpoint / "head/index.txt", std::ios::app) << "x";
  CHECK_THAT(damage_of(checkpoint), Catch::Matchers::ContainsSubstring("head/index.txt"));
}

TEST_CASE("save hooks: what a hook may not do", "[checkpoint][hooks]") {
  const TemporaryFolder folder;
  Checkpoint checkpoint;
  checkpoint.states["model"].tensors["weight"] = torch::ones({2});
  const auto write = [&](const ModelStatesHook& hook) {
    Checkpoint copy = checkpoint;
    call_save_hooks({hook}, copy, folder / "saved");
    TemporaryFolderBeside temporary(folder / "saved");
    write_checkpoint(temporary, copy);
  };
  CHECK_THROWS_WITH(write([](ModelStates& models, const fs::path&) { models["head"] = {}; }),
                    Catch::Matchers::ContainsSubstring("\"head\""));
  CHECK_THROWS_WITH(write([](ModelStates&, const fs::path& to) { std::ofstream(to / "state.json") << "{}"; }),
                    Catch::Matchers::ContainsSubstring("state.json"));
  CHECK_THROWS_WITH(
      write([](ModelStates&, const fs::path& to) { fs::create_symlink("/etc/hostname", to / "link"); }),
      Catch::Matchers::ContainsSubstring("link"));
  CHECK_FALSE(fs::exists(folder / "saved"));

  write([](ModelStates&, const fs::path& to) {
    std::ofstream(to / "beside.bin") << "mine";
    fs::create_directory(to / "extra");
    std::ofstream(to / "extra/notes.txt") << "mine";
  });
  CHECK(read_text(folder / "saved" / "beside.bin") == "mine");
  const Checkpoint saved = read_checkpoint(folder / "saved");
  CHECK(saved.states.at("model").tensors.contains("weight"));
  CHECK(saved.texts.empty());  // those of the run; files of hooks may be of any size
}
