#include <limits>
#include <ostream>
#include <stdexcept>

#include "runner/cli/commands.hpp"
#include "runner/cli/option_number.hpp"
#include "runner/cli/problem.hpp"
#include "runner/inference/generate.hpp"
#include "runner/inference/load_run.hpp"
#include "runner/inference/text_stream.hpp"
#include "runner/terminal/text.hpp"

namespace runner::cli {

namespace {

constexpr std::int64_t default_tokens = 200;
constexpr double default_temperature = 0.8;

Continuation continuation(const Arguments& arguments) {
  Continuation how;
  how.tokens = whole_option(arguments, "tokens", 1).value_or(default_tokens);
  how.choice.temperature = number_option(arguments, "temperature", 0, std::numeric_limits<double>::max())
                               .value_or(default_temperature);
  how.choice.top_k = whole_option(arguments, "top-k", 1);
  how.choice.top_p = number_option(arguments, "top-p", 0, 1);
  how.seed = static_cast<std::uint64_t>(whole_option(arguments, "seed", 0).value_or(0));
  return how;
}

LanguageModel& language_model(const TrainedRun& run) {
  if (auto* model = dynamic_cast<LanguageModel*>(run.model.get())) return *model;
  throw std::runtime_error("The model of this run, \"" + run.recipe.model.name() +
                           "\", is no language model: there is nothing to sample.");
}

std::vector<std::int64_t> prompt_tokens(const std::string& prompt, const Interpreter& interpreter,
                                        const LanguageModel& model, Session& session) {
  std::vector<std::int64_t> tokens = interpreter.tokens(prompt);
  if (tokens.empty())
    throw std::runtime_error("The prompt holds no token to begin with: give --prompt TEXT.");
  if (std::ssize(tokens) > model.context()) {
    session.err << "the prompt has " << tokens.size() << " tokens; the model looks at the last "
                << model.context() << "\n";
  }
  return tokens;
}

int sample(const Arguments& arguments, Session& session) {
  Continuation how = continuation(arguments);
  const std::int64_t count = whole_option(arguments, "count", 1).value_or(1);
  Diagnostics found;
  const auto run = load_run(
      {arguments.get("RUN"), arguments.get("weights"), arguments.all("OVERRIDE"), session.environment},
      session.registry, found);
  session.err << render(found, session.err_style.colour);
  if (!run) return Exit::bad_input;
  LanguageModel& model = language_model(*run);
  const auto interpreter = run->interpreter();
  const std::string prompt = arguments.has("prompt") ? arguments.get("prompt") : "\n";
  const auto tokens = prompt_tokens(prompt, *interpreter, model, session);
  how.vocabulary = run->data.vocabulary;
  for (std::int64_t i = 0; i < count; ++i, ++how.seed) {
    if (i > 0) session.out << session.out_style.dim("----------------") << "\n";
    session.out << session.out_style.dim(prompt) << std::flush;
    TextStream text(*interpreter);
    generate(model, run->engine.device(), tokens, how,
             [&](std::int64_t token) { session.out << text.add(token) << std::flush; });
    session.out << text.rest() << "\n" << std::flush;
  }
  return Exit::done;
}

int run(const Arguments& arguments, Session& session) {
  try {
    return sample(arguments, session);
  } catch (const BadNumber& bad) {
    return refuse({bad.message, {}, "runner sample --help"}, session);
  }
}

}  // namespace

Command sample_command() {
  return {
      .name = "sample",
      .summary = "Let a trained language model continue a text.",
      .arguments = {{"RUN", "A run folder, or the name of a run for its latest.", Argument::Count::one,
                     Word::file},
                    {"OVERRIDE", "Changes to its recipe, such as run.device=cpu.", Argument::Count::any,
                     Word::override_}},
      .options =
          {{.name = "prompt", .doc = "The beginning; a line break where not given.", .value = "TEXT"},
           {.name = "tokens", .doc = "How many tokens to add (200).", .value = "N"},
           {.name = "temperature",
            .doc = "Below 1 likelier, above 1 bolder; 0: always the likeliest token (0.8).",
            .value = "T"},
           {.name = "top-k", .doc = "Draw from the K likeliest tokens only.", .value = "K"},
           {.name = "top-p",
            .doc = "Draw from the likeliest tokens that together reach probability P.",
            .value = "P"},
           {.name = "seed", .doc = "Another seed gives another text (0).", .value = "S"},
           {.name = "count", .doc = "How many texts, with seeds S, S + 1 .. (1).", .value = "N"},
           {.name = "weights",
            .doc = "\"best\", \"model\" (those of the last step) or a file; the best where they were kept.",
            .value = "FILE",
            .word = Word::file}},
      .examples = {{"runner sample runs/shakespeare --prompt \"ROMEO:\"", "the latest run of that name"},
                   {"runner sample runs/gpt/latest --temperature 0 --tokens 50", "always the same text"}},
      .run = &run,
      .details =
          "The text comes as it is made. The data the model was trained on is not needed. Where text and "
          "prompt\noutgrow the model's context, it goes on from the latter half of it."};
}

}  // namespace runner::cli
