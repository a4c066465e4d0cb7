#include <nlohmann/json.hpp>
#include <ostream>

#include "components/models/weights/load_weights.hpp"
#include "components/trackers/json_number.hpp"
#include "registry/base/log.hpp"
#include "registry/base/wording.hpp"
#include "runner/cli/commands.hpp"
#include "runner/cli/options/offload_option.hpp"
#include "runner/describe/json.hpp"
#include "runner/engine/runtime/process.hpp"
#include "runner/predict/load_run.hpp"
#include "runner/process/input_error.hpp"
#include "runner/recipe/parts.hpp"
#include "runner/resolve/resolve.hpp"
#include "runner/terminal/format.hpp"
#include "runner/terminal/text.hpp"
#include "runner/train/evaluate.hpp"

namespace runner::cli {

namespace {

namespace fs = std::filesystem;

// What to evaluate: a recipe, weights for its model, and what their run learnt from its training data.
struct Subject {
  fs::path recipe;
  std::optional<fs::path> weights;  // none: those that the recipe names, if any
  LearntData learnt = {};           // empty: the recipe's training data is used
};

Subject subject_of(const std::string& word, const std::string& weights) {
  if (fs::is_regular_file(word) || word.ends_with(".toml")) {
    if (weights.empty()) return {word, std::nullopt};
    if (!fs::exists(weights)) throw InputError("There is no weights file " + weights + ".");
    return {word, weights};
  }
  const fs::path folder = find_run(word);
  return {folder / "recipe.toml", find_weights(folder, weights), learnt_data(folder)};
}

// All weights come from the file, and what only a training run needs is removed.
Recipe to_evaluate(Recipe recipe, const Subject& subject) {
  if (subject.weights && !recipe.model.common.adapter) {
    recipe.model.common.weights = subject.weights;
    recipe.model.common.strict = true;
    recipe.model.common.replace.clear();
  }
  recipe.hook.clear();
  recipe.checkpoint.best.reset();
  return recipe;
}

void print(const Evaluation& found, std::ostream& out) {
  std::vector<std::pair<std::string, std::string>> rows;
  for (const auto& [name, value] : found.measurements) rows.emplace_back(escaped_name(name), rounded(value));
  out << two_columns(rows, "");
  for (const auto& [name, text] : found.texts) out << "\n" << name << "\n" << text << "\n";
}

nlohmann::ordered_json to_json(const Evaluation& found, const Run& run, const Subject& subject) {
  nlohmann::ordered_json json{{"recipe", subject.recipe.string()}};
  const auto& weights = run.recipe.model.common.weights;
  if (weights) json["weights"] = weights->string();
  if (!weights && !run.recipe.model.facts().brings_weights) json["untrained"] = true;
  json["examples"] = found.examples;
  if (found.unreadable > 0) json["unreadable"] = found.unreadable;
  json["metrics"] = nlohmann::ordered_json::object();
  for (const auto& [name, value] : found.measurements) json["metrics"][name] = json_number(value);
  for (const auto& [name, text] : found.texts) json["texts"][name] = text;
  if (!run.data.stand_in.empty()) json["stand_in"] = run.data.stand_in;
  return json;
}

void require_whole_file(const ModelCommon& common) {
  if (!common.weights)
    throw std::runtime_error(
        "--offload reads the weights from their file, but none is given: --weights FILE.");
  if (!common.strict || !common.replace.empty())
    throw std::runtime_error(
        "--offload takes every weight from the file: it cannot be used with model.strict = false or "
        "model.replace.");
}

int run(const Arguments& arguments, Session& session) {
  std::optional<OffloadOptions> offload;
  if (!read_offload(arguments, session, offload)) return Exit::bad_input;
  const Subject subject = subject_of(arguments.get("RUN"), arguments.get("weights"));
  Diagnostics problems;
  const auto resolved = resolve_recipe({subject.recipe, session.environment, arguments.all("OVERRIDE")},
                                       session.registry, problems);
  session.err << render(problems, session.err_style.colour);
  if (!resolved) return Exit::bad_input;
  const Recipe recipe = to_evaluate(decode_table<Recipe>(*resolved, session.registry), subject);
  if (recipe.eval.metric.empty()) {
    throw std::runtime_error("The recipe names no metric; add one: eval.metric+=accuracy");
  }
  warn_and_steer_around_broken_instructions();
  apply(ProcessSettings{.threads = recipe.run.threads,
                        .deterministic = recipe.run.deterministic,
                        .cudnn_benchmark = recipe.run.cudnn_benchmark});
  World world;
  std::unique_ptr<OffloadedWeights> offloaded;
  Run::ModelFactory make_model;
  if (recipe.model.common.adapter) {
    if (offload)
      throw std::runtime_error(
          "--offload cannot add an adapter to its model: `runner export --merge` writes both as one.");
    make_model = [&](const Recipe& of, const DataSpec& data) {
      auto model = build_model(of, data);
      if (subject.weights) load_weights(*model, *subject.weights, {});
      return model;
    };
  } else if (offload) {
    require_whole_file(recipe.model.common);
    make_model = [&](const Recipe& of, const DataSpec& data) {
      OffloadedModel made = offload_model(of, data, *of.model.common.weights, *offload);
      offloaded = std::move(made.weights);
      return made.model;
    };
  }
  Run assembled(recipe, world, {}, make_model, subject.learnt);
  if (offloaded) offloaded->load();
  if (!assembled.data.eval) throw std::runtime_error("The dataset has no validation set.");
  if (!assembled.data.stand_in.empty()) log::warning(assembled.data.stand_in);
  if (!recipe.model.common.weights && !recipe.model.facts().brings_weights) {
    log::warning(
        "The network is untrained: no weights are given, so these are the results of a random "
        "initialisation. "
        "Give the run folder of a finished run, or --weights FILE.");
  }
  const OffloadedPass pass(offloaded.get());
  const Evaluation found = evaluate(assembled);
  if (arguments.has("json")) {
    session.out << dumped(to_json(found, assembled, subject));
  } else {
    print(found, session.out);
  }
  return Exit::done;
}

}  // namespace

Command eval_command() {
  Command command{
      .name = "eval",
      .summary = "Evaluate a trained model on its validation set.",
      .arguments = {{"RUN", "A run folder, the name of a run (its last one), or a recipe.",
                     Argument::Count::one, Word::file},
                    {"OVERRIDE", "Changes to its recipe, as for `runner run`.", Argument::Count::any,
                     Word::override_}},
      .options = {{.name = "weights",
                   .doc = "best, model (the last step) or a file; default: best if the run kept it.",
                   .value = "WHICH",
                   .word = Word::file},
                  {.name = "json", .doc = "The same as JSON, for programs."}},
      .examples = {{"runner eval runs/shapes", "the last run of that name"},
                   {"runner eval runs/shapes dataset.seed=2 eval.metric+=confusion_matrix",
                    "on other images"},
                   {"runner eval recipes/cifar10_resnet20_eval.toml --weights resnet20.th", "without a run"}},
      .run = &run,
      .details = "Writes no files. Exit code 0: done; 1: failed; 2: the recipe has mistakes."};
  command.options.insert(command.options.end(), offload_options().begin(), offload_options().end());
  return command;
}

}  // namespace runner::cli
