// `runner new --dataset D --model M`: every dataset with every model that has a task in common with it gives
// a recipe that `check --deep` finds right, once its blanks are filled in.
#include <catch2/catch_all.hpp>

#include <torch/types.h>

#include "components/datasets/dataset.hpp"
#include "components/models/model.hpp"
#include "components/weights/safetensors.hpp"
#include "tests/runner/cli/program.hpp"
#include "tests/support/files.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/thorough.hpp"

namespace runner::testing {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::ContainsSubstring;

std::string idx_header(std::initializer_list<unsigned char> bytes, std::size_t content) {
  return std::string(bytes.begin(), bytes.end()) + std::string(content, '\0');
}

// A little data for each dataset that needs files.
class Data {
 public:
  Data() {
    write_file(folder_ / "people.csv", "age,city,buys\n30,Rome,yes\n40,Oslo,no\n50,Rome,yes\n60,Oslo,no\n");
    write_file(folder_ / "words.txt",
               std::string(40, 'a') + " some words to learn from, and some more of them\n");
    write_file(folder_ / "config.json",
               R"({"model_type": "llama", "hidden_size": 8, "intermediate_size": 8, "vocab_size": 300,)"
               R"( "num_hidden_layers": 1, "num_attention_heads": 2})");
    write_file(
        folder_ / "chats.jsonl",
        "{\"prompt\": \"ping\", \"completion\": \"pong\"}\n{\"prompt\": \"up\", \"completion\": \"down\"}\n");
    write_file(folder_ / "films.csv", "text,label\ngood,yes\nbad,no\nfine,yes\nawful,no\n");
    const std::string images = idx_header({0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 28, 0, 0, 0, 28}, 2 * 28 * 28);
    const std::string labels = idx_header({0, 0, 8, 1, 0, 0, 0, 2}, 2);
    for (const char* part : {"train", "t10k"}) {
      write_file(folder_ / "idx" / (std::string(part) + "-images-idx3-ubyte"), images);
      write_file(folder_ / "idx" / (std::string(part) + "-labels-idx1-ubyte"), labels);
    }
    const std::string photo = read_text(source_folder() / "tests/components/images/images/colour.png");
    for (const char* part : {"train", "val"}) {
      for (const char* name : {"cat", "dog"}) write_file(folder_ / "photos" / part / name / "1.png", photo);
    }
    save("numbers", torch::zeros({4, 3}), torch::arange(4));
    save("segmentation", torch::zeros({4, 1, 32, 32}), torch::zeros({4, 32, 32}, torch::kInt64));
    save("translation", torch::zeros({4, 5}, torch::kInt64), torch::zeros({4, 6}, torch::kInt64));
  }

  std::vector<std::string> settings(const std::string& dataset, const std::string& model) const {
    const auto at = [&](const std::string& key, const std::string& file) {
      return "dataset." + key + "=" + (folder_ / file).string();
    };
    if (dataset == "csv") return {at("train", "people.csv"), "dataset.target=buys"};
    if (dataset == "text" || dataset == "chat") {
      std::vector<std::string> settings{"dataset.length=8"};
      if (dataset == "text") settings.push_back(at("file", "words.txt"));
      if (dataset == "chat") {
        settings = {"dataset.length=64", "dataset.tokenizer.vocab_size=270"};
        settings.push_back("dataset.files=[\"" + (folder_ / "chats.jsonl").string() + "\"]");
      }
      if (model == "decoder") settings.push_back("model.config=" + (folder_ / "config.json").string());
      return settings;
    }
    if (dataset == "text_classification") return {at("file", "films.csv")};
    if (dataset == "idx" || dataset == "fashion_mnist") return {at("dir", "idx")};
    if (dataset == "image_folder") return {at("dir", "photos")};
    if (dataset != "tensors") return {};
    const std::string task = model == "unet"          ? "segmentation"
                             : model == "transformer" ? "translation"
                                                      : "numbers";
    std::vector<std::string> settings{at("train", task + ".safetensors"), at("eval", task + ".safetensors")};
    if (task == "segmentation") settings.emplace_back("dataset.classes=2");
    if (task == "translation") settings.emplace_back("model.vocabulary=10");
    return settings;
  }

  fs::path recipe() const { return folder_ / "new.toml"; }

 private:
  void save(const std::string& name, const torch::Tensor& input, const torch::Tensor& target) const {
    write_safetensors(folder_ / (name + ".safetensors"), {{"input", input}, {"target", target}});
  }

  TemporaryFolder folder_;
};

bool have_common_task(const std::vector<Task>& a, const std::vector<Task>& b) {
  return std::ranges::any_of(a, [&](Task task) { return std::ranges::find(b, task) != b.end(); });
}

TEST_CASE("every dataset and every model of its task make a recipe that fits", "[cli][new]") {
  const Data data;
  const Program program;
  int pairs = 0;
  for (const Descriptor* dataset : program.registry.of_kind("dataset")) {
    for (const Descriptor* model : program.registry.of_kind("model")) {
      const std::string dataset_name(dataset->name), model_name(model->name);
      const auto tasks = facts_of<DatasetKind>(*dataset, program.registry).tasks;
      INFO(dataset_name << " with " << model_name);
      std::vector<std::string> words{"new",      "--dataset", dataset_name, "--model",
                                     model_name, "-f",        "-o",         data.recipe().string()};
      const auto model_tasks = facts_of<ModelKind>(*model, program.registry).tasks;
      if (tasks.empty() || model_tasks.empty())
        continue;  // torchscript: whatever its file holds; data of tests
      if (!have_common_task(tasks, model_tasks)) {
        const Outcome refused = program.run(words);
        CHECK(refused.code == 2);
        CHECK_THAT(refused.err, ContainsSubstring("do not go together"));
        continue;
      }
      ++pairs;
      // One block is as good as twelve, and much sooner built.
      if (model->schema().find("layers")) words.emplace_back("model.layers=1");
      const Outcome made = program.run(words);
      INFO(made.err);
      REQUIRE(made.code == 0);
      // Building every large model for every image dataset takes minutes: RUNNER_THOROUGH=1 does. Else each
      // model is built for one of them, and each dataset with small models.
      const bool small = model_name == "mlp" || model_name == "simple_cnn" || model_name == "resnet20" ||
                         model_name == "autoencoder" || model_name == "vit";
      const bool images = !tasks.empty() && tasks.front() == Task::images;
      const bool deep = !images || small || dataset_name == "shapes" || thorough();
      std::vector<std::string> check{"check", data.recipe().string()};
      if (deep) check.emplace_back("--deep");
      for (std::string& setting : data.settings(dataset_name, model_name))
        check.push_back(std::move(setting));
      const Outcome checked = program.run(check);
      CHECK(checked.err == "");
      CHECK(checked.code == 0);
    }
  }
  CHECK(pairs > 100);
}

TEST_CASE("what only the user knows is a blank that check explains", "[cli][new]") {
  const TemporaryFolder folder;
  const Program program;
  const std::string file = (folder / "mine.toml").string();
  const Outcome made = program.run({"new", "--dataset", "csv", "--model", "tabular", "-o", file});
  CHECK(made.err == "");
  CHECK_THAT(made.out, ContainsSubstring("fill in what is marked \"???\" (dataset.train, dataset.target)"));
  CHECK_THAT(read_text(file), ContainsSubstring("train = \"???\"  # fill this in\n"));
  const Outcome checked = program.run({"check", file});
  CHECK(checked.code == 2);
  CHECK_THAT(checked.err, ContainsSubstring("dataset.train is still to be filled in") &&
                              ContainsSubstring("File to train on") &&
                              ContainsSubstring("dataset.target is still to be filled in"));
}

}  // namespace
}  // namespace runner::testing
