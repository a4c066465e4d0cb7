// What users read when something is wrong, word for word. Each tests/cli/errors/NAME.toml is a mistake,
// NAME.txt what `runner check` says about it, or another command that its first line names. After a change:
// RUNNER_UPDATE_GOLDENS=1 build/release/bin/core_test "[errors]", then read the difference.
#include <algorithm>
#include <catch2/catch_all.hpp>
#include <cstdlib>
#include <filesystem>

#include "runner/process/failure.hpp"
#include "tests/runner/cli/program.hpp"
#include "tests/support/files.hpp"
#include "tests/support/in_folder.hpp"
#include "tests/support/temporary_folder.hpp"

namespace fs = std::filesystem;

namespace runner::testing {
namespace {

// Few components, so that the texts do not change with every new one.
Registry few_components() {
  static const Registry all = Registry::of_linked();
  std::vector<const Descriptor*> chosen;
  for (const auto& [kind, name] :
       std::vector<std::pair<const char*, const char*>>{{"model", "mlp"},
                                                        {"model", "resnet18"},
                                                        {"model", "simple_cnn"},
                                                        {"dataset", "cifar10"},
                                                        {"dataset", "image_folder"},
                                                        {"dataset", "shapes"},
                                                        {"dataset", "text"},
                                                        {"transform", "normalize"},
                                                        {"transform", "random_crop"},
                                                        {"transform", "random_flip"},
                                                        {"transform", "resize"},
                                                        {"optimizer", "adamw"},
                                                        {"optimizer", "sgd"},
                                                        {"scheduler", "constant"},
                                                        {"scheduler", "cosine"},
                                                        {"loss", "cross_entropy"},
                                                        {"loss", "mse"},
                                                        {"metric", "accuracy"},
                                                        {"metric", "loss"},
                                                        {"precision", "bf16"},
                                                        {"precision", "fp32"},
                                                        {"tokenizer", "char"},
                                                        {"tracker", "csv"},
                                                        {"tracker", "tensorboard"},
                                                        {"hook", "early_stop"}}) {
    chosen.push_back(&find_component(all, kind, name));
  }
  return Registry(std::move(chosen));
}

// "# arguments: a=1" in the first line of a recipe.
std::string first_line_setting(const std::string& text, const std::string& name) {
  const std::string start = "# " + name + ": ";
  return text.starts_with(start) ? text.substr(start.size(), text.find('\n') - start.size()) : "";
}

// "check --deep RECIPE" as words, with the recipe's name in its place.
std::vector<std::string> words_of(const std::string& command, const fs::path& recipe) {
  std::istringstream stream(command);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word == "RECIPE" ? recipe.string() : word);
  return words;
}

// As main does.
Outcome outcome_of(const Program& program, const std::vector<std::string>& words) {
  try {
    return program.run(words);
  } catch (const std::exception& error) {
    return {1, "", "runner: error: " + failure_text(error) + "\n"};
  }
}

// Paths are absolute in messages: those of this folder are shown from here.
std::string without_folder(std::string text) {
  const std::string folder = fs::current_path().string() + "/";
  for (auto at = text.find(folder); at != std::string::npos; at = text.find(folder, at))
    text.erase(at, folder.size());
  return text;
}

Outcome check(const fs::path& recipe) {
  const std::string text = read_text(recipe);
  Program program{few_components()};
  if (const std::string command = first_line_setting(text, "command"); !command.empty()) {
    Outcome outcome = outcome_of(program, words_of(command, recipe));
    outcome.out += "exit code " + std::to_string(outcome.code) + "\n";
    return outcome;
  }
  std::vector<std::string> words{"check", recipe.string()};
  if (const std::string argument = first_line_setting(text, "arguments"); !argument.empty())
    words.push_back(argument);
  if (const std::string variable = first_line_setting(text, "environment"); !variable.empty()) {
    program.environment[variable.substr(0, variable.find('='))] = variable.substr(variable.find('=') + 1);
  }
  return program.run(words);
}

TEST_CASE("every mistake is explained as its golden text says", "[cli][errors]") {
  const InFolder folder(source_folder() / "tests/cli/errors");
  const bool update = std::getenv("RUNNER_UPDATE_GOLDENS") != nullptr;
  std::vector<fs::path> recipes;
  for (const auto& entry : fs::directory_iterator(".")) {
    if (entry.path().extension() == ".toml") recipes.push_back(entry.path().filename());
  }
  std::ranges::sort(recipes);
  REQUIRE(recipes.size() >= 40);
  for (const fs::path& recipe : recipes) {
    INFO(recipe);
    const Outcome outcome = check(recipe);
    const std::string said = without_folder(outcome.err + outcome.out);
    const fs::path golden = fs::path(recipe).replace_extension(".txt");
    if (update) write_file(fs::absolute(golden), said);
    CHECK(said == read_text(golden));
    const bool is_warning = outcome.err.find("error: ") == std::string::npos;
    const bool has_command = outcome.out.find("exit code ") != std::string::npos;  // compared with the text
    if (!has_command) CHECK(outcome.code == (is_warning ? 0 : 2));
    CHECK_FALSE(outcome.err.empty());
  }
}

TEST_CASE("the recipe that the mistakes are made in is right itself", "[cli][errors]") {
  const InFolder folder(source_folder() / "tests/cli/errors");
  const Outcome outcome = check("bases/right.toml");
  CHECK(outcome.err.empty());
  CHECK(outcome.out == "bases/right.toml: ok\n");
  CHECK(outcome.code == 0);
}

}  // namespace
}  // namespace runner::testing
