#include <torch/types.h>
#include <torch/utils.h>

#include <catch2/catch_all.hpp>
#include <set>

#include "components/models/weights/load_weights.hpp"
#include "components/models/weights/model_weights.hpp"
#include "runner/predict/generate.hpp"
#include "runner/runs/data_spec_file.hpp"
#include "tests/runner/cli/program.hpp"
#include "tests/support/files.hpp"
#include "tests/support/parts.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace runner;
using namespace runner::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

DataSpec windows(std::int64_t length, std::int64_t vocabulary) {
  return {.input_shape = {length},
          .input_type = torch::kInt64,
          .target_shape = {length},
          .vocabulary = vocabulary};
}

// Weights so large that the model has decided opinions.
std::unique_ptr<Model> model(const std::string& name, const DataSpec& data) {
  torch::manual_seed(3);
  auto built = part<ModelKind>(name, {{"layers", 2}, {"heads", 2}, {"width", 16}}).build({data});
  const torch::NoGradGuard no_grad;
  for (auto& parameter : built->parameters()) parameter.mul_(8);
  built->eval();
  return built;
}

std::set<std::int64_t> chosen(const torch::Tensor& logits, const TokenChoice& choice) {
  std::set<std::int64_t> tokens;
  ExampleRandom random(1);
  for (int i = 0; i < 2000; ++i) tokens.insert(choose_token(logits, choice, random));
  return tokens;
}

// Decodes as byte tokenizers do.
class Bytes : public Interpreter {
 public:
  std::string text(std::span<const std::int64_t> tokens) const override {
    std::string whole, pending;
    for (const std::int64_t token : tokens) {
      pending += static_cast<char>(token);
      const std::size_t needed = (pending[0] & 0x80) == 0 ? 1 : 2;
      if (pending.size() == needed) whole += std::exchange(pending, "");
    }
    return whole + (pending.empty() ? "" : "\xEF\xBF\xBD");
  }
};

std::string leave_run(const TemporaryFolder& folder, std::int64_t context = 12) {
  write_file(folder / "recipe.toml", R"(
model = { name = "gpt", layers = 2, heads = 2, width = 16 }
dataset = { name = "text", file = "nowhere.txt", tokenizer = "byte" }
optimizer = { name = "sgd", lr = 0.1 }
train = { max_steps = 1 }
)");
  const DataSpec data = windows(context, 256);
  write_file(folder / "data_spec.json", write_data_spec(data));
  write_file(folder / "dataset.json", R"({"tokenizer": "byte"})");
  save_weights(ModelWeights(*model("gpt", data)).all(), folder / "model.safetensors");
  return folder.path().string();
}

}  // namespace

TEST_CASE("sample: tokens are drawn by their probability, among those that may be", "[sample]") {
  const auto logits = torch::log(torch::tensor({0.1, 0.4, 0.2, 0.0, 0.3}));
  CHECK(chosen(logits, {}) == std::set<std::int64_t>{0, 1, 2, 4});
  CHECK(chosen(logits, {.temperature = 0}) == std::set<std::int64_t>{1});
  CHECK(chosen(logits, {.temperature = 0.01}) == std::set<std::int64_t>{1});
  CHECK(chosen(logits, {.top_k = 1}) == std::set<std::int64_t>{1});
  CHECK(chosen(logits, {.top_k = 3}) == std::set<std::int64_t>{1, 2, 4});
  CHECK(chosen(logits, {.top_k = 50}) == std::set<std::int64_t>{0, 1, 2, 4});
  CHECK(chosen(logits, {.top_p = 0.0}) == std::set<std::int64_t>{1});
  CHECK(chosen(logits, {.top_p = 0.6}) == std::set<std::int64_t>{1, 4});
  CHECK(chosen(logits, {.top_p = 0.8}) == std::set<std::int64_t>{1, 2, 4});
  CHECK(chosen(logits, {.top_p = 1.0}) == std::set<std::int64_t>{0, 1, 2, 4});
  CHECK(chosen(logits, {.top_k = 2, .top_p = 0.5}) == std::set<std::int64_t>{1});

  ExampleRandom random(7);
  std::array<int, 5> counts{};
  for (int i = 0; i < 20000; ++i) ++counts[choose_token(logits, {.temperature = 2}, random)];
  // By hand: square roots of the probabilities, over their sum.
  const double sum = std::sqrt(0.1) + std::sqrt(0.4) + std::sqrt(0.2) + std::sqrt(0.3);
  CHECK_THAT(counts[0] / 20000.0, Catch::Matchers::WithinAbs(std::sqrt(0.1) / sum, 0.015));
  CHECK_THAT(counts[1] / 20000.0, Catch::Matchers::WithinAbs(std::sqrt(0.4) / sum, 0.015));
  CHECK(counts[3] == 0);
}

TEST_CASE("sample: what is not finite is refused", "[sample]") {
  ExampleRandom random(1);
  CHECK_THROWS_WITH(choose_token(torch::tensor({1.0, std::nan("")}), {}, random),
                    ContainsSubstring("not finite"));
}

TEST_CASE("sample: with the cache the text is what it is without", "[sample]") {
  const std::string name = GENERATE("gpt", "llama");
  const auto built = model(name, windows(40, 30));
  auto& language = dynamic_cast<LanguageModel&>(*built);
  const std::vector<std::int64_t> prompt{3, 1, 4, 1, 5};
  const Continuation how{.tokens = 30, .choice = {.temperature = 1.5}, .seed = 9};
  std::vector<std::int64_t> told;
  const auto cached =
      generate(language, torch::kCPU, prompt, how, [&](std::int64_t token) { told.push_back(token); });
  CHECK(told == cached);

  const torch::NoGradGuard no_grad;
  ExampleRandom random(how.seed);
  std::vector<std::int64_t> all = prompt;
  for (std::int64_t i = 0; i < how.tokens; ++i) {
    const auto logits = built->forward({.input = torch::tensor(all, torch::kInt64).unsqueeze(0)});
    all.push_back(choose_token(logits[0][-1], how.choice, random));
  }
  CHECK(std::vector<std::int64_t>(all.begin() + 5, all.end()) == cached);
  CHECK(std::set<std::int64_t>(cached.begin(), cached.end()).size() > 5);
}

TEST_CASE("sample: the context may be outgrown, by the prompt too", "[sample]") {
  const auto built = model(GENERATE("gpt", "llama"), windows(6, 30));
  auto& language = dynamic_cast<LanguageModel&>(*built);
  const auto ignore = [](std::int64_t) {};
  CHECK(generate(language, torch::kCPU, {1, 2}, {.tokens = 40}, ignore).size() == 40);
  const std::vector<std::int64_t> long_prompt{9, 9, 9, 1, 2, 3, 4, 5, 6}, its_end{1, 2, 3, 4, 5, 6};
  CHECK(generate(language, torch::kCPU, long_prompt, {.tokens = 20}, ignore) ==
        generate(language, torch::kCPU, its_end, {.tokens = 20}, ignore));
  for (const std::int64_t token :
       generate(language, torch::kCPU, {1}, {.tokens = 50, .vocabulary = 4}, ignore))
    CHECK(token < 4);
}

TEST_CASE("sample: text comes in whole characters", "[sample]") {
  const Bytes bytes;
  TextStream stream(bytes);
  CHECK(stream.add('a') == "a");
  CHECK(stream.add(0xC3) == "");
  CHECK(stream.add(0xB6) == "ö");
  CHECK(stream.add('b') == "b");
  CHECK(stream.rest() == "");
  CHECK(stream.add(0xC3) == "");
  CHECK(stream.rest() == "\xEF\xBF\xBD");
}

TEST_CASE("sample: from the command line", "[sample][cli]") {
  const TemporaryFolder folder;
  const std::string run = leave_run(folder);
  const auto text = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"sample", run, "--prompt", "Hi", "--tokens", "20"});
    const Outcome outcome = Program{}.run(words);
    INFO(outcome.err);
    CHECK(outcome.code == 0);
    return outcome.out;
  };
  const std::string first = text({});
  CHECK_THAT(first, Catch::Matchers::StartsWith("Hi") && Catch::Matchers::EndsWith("\n"));
  CHECK(text({}) == first);
  CHECK(text({"--seed", "1"}) != first);
  const std::string two = text({"--count", "2"});
  CHECK(two == first + "----------------\n" + text({"--seed", "1"}));
  CHECK(text({"--temperature", "0", "--seed", "1"}) == text({"--temperature", "0", "--seed", "2"}));
  CHECK(text({"--top-k", "1"}) == text({"--temperature", "0"}));

  const Outcome long_prompt = Program{}.run({"sample", run, "--prompt", "a prompt of 24 characters"});
  CHECK(long_prompt.code == 0);
  CHECK_THAT(long_prompt.err, ContainsSubstring("25 tokens") && ContainsSubstring("last 12"));
}

TEST_CASE("sample: what cannot be sampled from is refused with the reason", "[sample][cli]") {
  const TemporaryFolder folder;
  const std::string run = leave_run(folder);
  const auto refused = [&](const std::vector<std::string>& words, const std::string& why) {
    std::vector<std::string> all{"sample", run};
    all.insert(all.end(), words.begin(), words.end());
    const Outcome outcome = Program{}.run(all);
    CHECK(outcome.code == 2);
    CHECK_THAT(outcome.err, ContainsSubstring(why));
  };
  refused({"--tokens", "0"}, "--tokens needs a whole number of at least 1, not \"0\"");
  refused({"--temperature", "hot"}, "--temperature needs a number of at least 0, not \"hot\"");
  refused({"--top-p", "1.5"}, "--top-p needs a number from 0 to 1");
  refused({"--top-k", "-1"}, "--top-k");
  CHECK_THROWS_WITH(Program{}.run({"sample", run, "--prompt", ""}),
                    ContainsSubstring("no token to start from"));
  const Outcome missing = Program{}.run({"sample", run + "/none"});
  CHECK(missing.code == 2);
  CHECK_THAT(missing.err, ContainsSubstring("no run folder"));

  write_file(folder / "recipe.toml", R"(
model = { name = "mlp" }
dataset = { name = "text", file = "nowhere.txt", tokenizer = "byte" }
optimizer = { name = "sgd", lr = 0.1 }
train = { max_steps = 1 }
)");
  const DataSpec numbers{.input_shape = {4}, .classes = 2};
  write_file(folder / "data_spec.json", write_data_spec(numbers));
  save_weights(ModelWeights(*part<ModelKind>("mlp").build({numbers})).all(), folder / "model.safetensors");
  CHECK_THROWS_WITH(Program{}.run({"sample", run}),
                    ContainsSubstring("\"mlp\"") && ContainsSubstring("not a language model"));
}
