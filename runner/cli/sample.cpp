#include <limits>
#include <ostream>
#include <stdexcept>

#include "registry/base/log.hpp"
#include "registry/base/wording.hpp"
#include "registry/files/atomic_file.hpp"
#include "runner/cli/commands.hpp"
#include "runner/cli/options/offload_option.hpp"
#include "runner/cli/options/option_number.hpp"
#include "runner/cli/problem.hpp"
#include "runner/predict/generate.hpp"
#include "runner/predict/load_run.hpp"
#include "runner/predict/prompts.hpp"

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
  throw std::runtime_error("The model of this run, " + in_quotes(run.recipe.model.name()) +
                           ", is not a language model, so it cannot generate text.");
}

std::vector<std::int64_t> prompt_tokens(const Prompt& prompt, const Interpreter& interpreter,
                                        const LanguageModel& model, Session& session) {
  std::vector<std::int64_t> tokens =
      prompt.chat.empty() ? interpreter.tokens(prompt.text) : interpreter.chat(prompt.chat);
  if (tokens.empty())
    throw std::runtime_error("The prompt contains no token to start from: give --prompt TEXT.");
  if (std::ssize(tokens) > model.context()) {
    session.err << "the prompt has " << tokens.size() << " tokens; the model uses only the last "
                << model.context() << "\n";
  }
  return tokens;
}

// Each prompt of a file with its answer, as JSON lines.
int answer_all(const Arguments& arguments, const TrainedRun& run, LanguageModel& model,
               const Interpreter& interpreter, const Continuation& how, Session& session) {
  const std::vector<Prompt> prompts = read_prompts(arguments.get("prompts"), arguments.has("chat"));
  std::string answers;
  for (const Prompt& prompt : prompts) {
    const auto tokens = prompt_tokens(prompt, interpreter, model, session);
    const OffloadedPass pass = run.pass();
    const auto answer = generate(model, run.engine.device(), tokens, how, [](std::int64_t) {});
    const std::string line = answered(prompt, interpreter.text(answer));
    if (arguments.has("output")) {
      answers += line + "\n";
    } else {
      session.out << line << "\n" << std::flush;
    }
  }
  if (arguments.has("output")) {
    write_atomically(arguments.get("output"), answers);
    session.err << counted(prompts.size(), "answer") << ": " << arguments.get("output") << "\n";
  }
  return Exit::done;
}

int sample(const Arguments& arguments, Session& session) {
  for (const auto& [option, other] : {std::pair("prompts", "prompt"), {"prompts", "count"}})
    if (arguments.has(option) && arguments.has(other))
      return refuse(
          {log::format("--{} cannot be combined with --{}", option, other), {}, "runner sample --help"},
          session);
  if (arguments.has("output") && !arguments.has("prompts"))
    return refuse({"--output is for the answers to --prompts", {}, "runner sample --help"}, session);
  if (arguments.has("chat") && !arguments.has("prompts") && !arguments.has("prompt"))
    return refuse({"--chat needs --prompt TEXT, or --prompts FILE", {}, "runner sample --help"}, session);
  Continuation how = continuation(arguments);
  const std::int64_t count = whole_option(arguments, "count", 1).value_or(1);
  std::optional<OffloadOptions> offload;
  if (!read_offload(arguments, session, offload)) return Exit::bad_input;
  Diagnostics found;
  const auto run = load_run({arguments.get("RUN"), arguments.get("weights"), arguments.all("OVERRIDE"),
                             session.environment, offload},
                            session.registry, found);
  session.err << render(found, session.err_style.colour);
  if (!run) return Exit::bad_input;
  LanguageModel& model = language_model(*run);
  const auto interpreter = run->interpreter();
  how.vocabulary = run->data.vocabulary;
  how.ends = interpreter->ends();
  if (arguments.has("prompts")) return answer_all(arguments, *run, model, *interpreter, how, session);
  const bool chat = arguments.has("chat");
  const std::string text = arguments.has("prompt") ? arguments.get("prompt") : chat ? "" : "\n";
  const Prompt prompt = chat ? chat_prompt(text) : Prompt{.text = text};
  const auto tokens = prompt_tokens(prompt, *interpreter, model, session);
  for (std::int64_t i = 0; i < count; ++i, ++how.seed) {
    if (i > 0) session.out << session.out_style.dim("----------------") << "\n";
    if (!chat) session.out << session.out_style.dim(text) << std::flush;
    TextStream stream(*interpreter);
    const OffloadedPass pass = run->pass();
    generate(model, run->engine.device(), tokens, how,
             [&](std::int64_t token) { session.out << stream.add(token) << std::flush; });
    session.out << stream.rest() << "\n" << std::flush;
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
  Command command{
      .name = "sample",
      .summary = "Generate text with a trained language model.",
      .arguments = {{"RUN", "A run folder, or the name of a run (its last one).", Argument::Count::one,
                     Word::file},
                    {"OVERRIDE", "Changes to its recipe, such as run.device=cpu.", Argument::Count::any,
                     Word::override_}},
      .options = {{.name = "prompt", .doc = "The text to continue; default: a line break.", .value = "TEXT"},
                  {.name = "chat",
                   .doc = "The prompt is what a user says: it is written with the chat template of the run, "
                          "and the model answers."},
                  {.name = "prompts",
                   .doc = "Answer all prompts of a file of JSON lines: {\"prompt\": \"..\"}, or "
                          "conversations with --chat.",
                   .value = "FILE",
                   .word = Word::file},
                  {.name = "output",
                   .doc = "Write the answers to --prompts to this file, as JSON lines.",
                   .value = "FILE",
                   .letter = 'o',
                   .word = Word::file},
                  {.name = "tokens", .doc = "Number of tokens to generate; default: 200.", .value = "N"},
                  {.name = "temperature",
                   .doc = "Sampling temperature; 0: always the most likely token; default: 0.8.",
                   .value = "T"},
                  {.name = "top-k", .doc = "Sample from the K most likely tokens only.", .value = "K"},
                  {.name = "top-p",
                   .doc = "Sample from the most likely tokens that together reach probability P.",
                   .value = "P"},
                  {.name = "seed", .doc = "Seed; default: 0.", .value = "S"},
                  {.name = "count",
                   .doc = "Number of texts, with seeds S, S + 1 ..; default: 1.",
                   .value = "N"},
                  {.name = "weights",
                   .doc = "best, model (the last step) or a file; default: best if the run kept it.",
                   .value = "WHICH",
                   .word = Word::file}},
      .examples = {{"runner sample runs/shakespeare --prompt \"ROMEO:\"", "the latest run of that name"},
                   {"runner sample runs/gpt/latest --temperature 0 --tokens 50", "always the same text"},
                   {"runner sample runs/chat --chat --prompt \"Who are you?\"", "an answer"},
                   {"runner sample runs/chat --chat --prompts questions.jsonl -o answers.jsonl",
                    "many answers"}},
      .run = &run,
      .details =
          "The text is printed as it is generated, and ends at a token that ends texts. The training data is "
          "not needed. When\n"
          "the text outgrows the context of the model, generation continues from the second half of it."};
  command.options.insert(command.options.end(), offload_options().begin(), offload_options().end());
  return command;
}

}  // namespace runner::cli
