#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <system_error>

#include "components/contract/data_error.hpp"
#include "components/datasets/dataset.hpp"
#include "components/datasets/read/image_file.hpp"
#include "registry/base/number_text.hpp"
#include "registry/base/utf8.hpp"
#include "registry/base/wording.hpp"
#include "registry/files/csv_cell.hpp"
#include "registry/files/text_encoding.hpp"
#include "runner/cli/commands.hpp"
#include "runner/cli/options/offload_option.hpp"
#include "runner/cli/options/option_number.hpp"
#include "runner/cli/problem.hpp"
#include "runner/describe/json.hpp"
#include "runner/engine/runtime/process.hpp"
#include "runner/predict/predictions.hpp"
#include "runner/process/input_error.hpp"
#include "runner/terminal/format.hpp"
#include "runner/terminal/text.hpp"

namespace runner::cli {

namespace {

using Predictions = std::vector<Prediction>;
using Json = nlohmann::ordered_json;

// Every line is an input, so that predictions match lines one to one. An empty line is a text without words.
// It cannot be an image or a table row, so it is then allowed only at the end, where it shifts no other line.
void add_lines(std::istream& stream, const std::string& name, bool texts, std::vector<std::string>& inputs) {
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (lines.empty()) line = without_byte_order_mark(line);
    lines.push_back(std::move(line));
  }
  while (!texts && !lines.empty() && lines.back().empty()) lines.pop_back();
  const auto empty = std::ranges::find(lines, "");
  if (!texts && empty != lines.end())
    throw std::runtime_error("Line " + std::to_string(empty - lines.begin() + 1) + " of " + name +
                             " is empty. Remove it: predictions match lines one to one.");
  std::ranges::move(lines, std::back_inserter(inputs));
}

// The texts of a file like the one the run was trained on. The name of any other file would be classified
// like any other words.
void add_file(const std::string& word, const Interpreter& interpreter, std::vector<std::string>& inputs) {
  std::error_code ignored;
  if (!std::filesystem::exists(word, ignored)) return inputs.push_back(word);  // a sentence
  if (std::filesystem::is_directory(word, ignored))
    throw InputError(
        word +
        " is a folder: write @FILE to classify the lines of a file. To classify these words themselves, give "
        "them on standard input (-).");
  auto texts = interpreter.inputs_in(word);
  if (!texts)
    throw InputError(
        word + " is a file: write @" + word +
        " to classify its lines. To classify these words themselves, give them on standard input (-).");
  std::ranges::move(*texts, std::back_inserter(inputs));
}

// The lines of a table would be classified with its header and its labels.
void require_lines(const std::string& file, const Interpreter& interpreter) {
  try {
    if (!interpreter.inputs_in(file)) return;
  } catch (const DataError&) {
    return;  // it is no such table
  }
  throw InputError(file + " is a table like the one the run was trained on: write " + file +
                   " without @ to classify its texts, and - < " + file +
                   " to classify its lines as they are.");
}

std::vector<std::string> inputs_of(const std::vector<std::string>& words, bool texts,
                                   const Interpreter& interpreter) {
  std::vector<std::string> inputs;
  for (const std::string& word : words) {
    if (word == "-") {
      add_lines(std::cin, "standard input", texts, inputs);
    } else if (word.starts_with('@')) {
      const std::string name = word.substr(1);
      std::ifstream file(name);
      if (!file)
        throw InputError(
            "There is no file " + name + " to read inputs from." +
            (texts ? " To classify " + in_quotes(word) + " itself, give it on standard input (-)." : ""));
      if (texts) require_lines(name, interpreter);
      add_lines(file, name, texts, inputs);
    } else if (texts) {
      add_file(word, interpreter, inputs);
    } else {
      inputs.push_back(word);
    }
  }
  if (inputs.empty()) throw std::runtime_error("There is nothing to predict: no input was given.");
  return inputs;
}

// A folder means the images in it.
std::vector<std::string> with_folders_opened(const std::vector<std::string>& inputs) {
  std::vector<std::string> opened;
  for (const std::string& input : inputs) {
    std::error_code ignored;
    if (!std::filesystem::is_directory(input, ignored)) {
      opened.push_back(input);
      continue;
    }
    Skipped skipped;
    const auto images = images_in(input, skipped);
    warn_about(skipped, input);
    if (images.empty())
      throw std::runtime_error("There is no image (" + std::string(image_endings) + ") in the folder " +
                               input + ".");
    for (const auto& image : images) opened.push_back(image.string());
  }
  return opened;
}

// Values of any size with at least four decimals, such as times in seconds since 1970.
std::string value_text(double value) {
  constexpr int usual = 9, decimals = 4, most = std::numeric_limits<double>::max_digits10;
  const double size = std::abs(value);
  const int before_point = std::isfinite(size) && size >= 1 ? static_cast<int>(std::log10(size)) + 1 : 1;
  return rounded(value, std::clamp(before_point + decimals, usual, most));
}

std::string as_text(const Predictions& all) {
  std::vector<std::pair<std::string, std::string>> rows;
  for (const Prediction& one : all) {
    std::vector<std::string> said;
    for (const auto& [name, probability] : one.classes)
      said.push_back(escaped_name(name) + " " + rounded(probability));
    for (const auto& [name, probability] : one.labels)
      said.push_back(escaped_name(name) + " " + rounded(probability));
    for (const double value : one.values) said.push_back(value_text(value));
    rows.emplace_back(printable(one.input), printable(joined(said)));
  }
  return two_columns(rows, "");
}

// One row for each class that is shown, so that the columns are the same whatever --top says.
std::string as_csv(const Predictions& all) {
  std::string text = !all.front().labels.empty()  ? "input,label,probability\n"
                     : all.front().values.empty() ? "input,rank,class,probability\n"
                                                  : "input,output,value\n";
  for (const Prediction& one : all) {
    int rank = 1;
    for (const auto& [name, probability] : one.classes)
      text += csv_cell(one.input) + "," + std::to_string(rank++) + "," + csv_cell(name) + "," +
              rounded(probability) + "\n";
    for (const auto& [name, probability] : one.labels)
      text += csv_cell(one.input) + "," + csv_cell(name) + "," + rounded(probability) + "\n";
    for (const double value : one.values)
      text += csv_cell(one.input) + "," + std::to_string(rank++) + "," + number_text(value) + "\n";
  }
  return text;
}

std::string as_json(const Predictions& all) {
  Json list = Json::array();
  for (const Prediction& one : all) {
    Json entry{{"input", one.input}};
    for (const auto& [name, probability] : one.classes)
      entry["classes"].push_back({{"class", name}, {"probability", probability}});
    for (const auto& [name, probability] : one.labels)
      entry["labels"].push_back({{"label", name}, {"probability", probability}});
    if (!one.values.empty()) entry["values"] = one.values;
    list.push_back(std::move(entry));
  }
  return dumped(list);
}

void write(const std::string& text, const std::string& file) {
  errno = 0;
  std::ofstream out(file, std::ios::binary);
  out << text;
  if (!out.flush())
    throw std::runtime_error("cannot write " + file +
                             (errno != 0 ? ": " + std::generic_category().message(errno) : ""));
}

// A row or a sentence is no file.
void require_another_output(const Arguments& arguments, const std::vector<std::string>& inputs) {
  if (!arguments.has("out")) return;
  const std::string out = arguments.get("out");
  const auto is_output = [&](const std::string& input) {
    std::error_code is_no_file;
    return std::filesystem::equivalent(out, input, is_no_file);
  };
  if (std::ranges::any_of(inputs, is_output))
    throw InputError("--out " + out + " is read for the predictions and would be overwritten.");
}

// What a prediction reads of a run.
std::vector<std::string> files_of(const TrainedRun& run) {
  std::vector<std::string> files{run.weights.string()};
  for (const char* name : {"recipe.toml", "data_spec.json", "dataset.json"})
    files.push_back((run.folder / name).string());
  return files;
}

std::vector<std::string> without_at_signs(std::vector<std::string> words) {
  for (std::string& word : words)
    if (word.starts_with('@')) word.erase(0, 1);
  return words;
}

int run(const Arguments& arguments, Session& session) {
  const std::string format = arguments.has("format") ? arguments.get("format") : "text";
  if (format != "text" && format != "csv" && format != "json") {
    return refuse({"there is no format " + in_quotes(format), {"formats: text, csv, json"}}, session);
  }
  require_another_output(arguments, without_at_signs(arguments.all("INPUT")));
  std::size_t top = 1;
  try {
    top = static_cast<std::size_t>(whole_option(arguments, "top", 1).value_or(1));
  } catch (const BadNumber& wrong) {
    return refuse({wrong.message}, session);
  }
  warn_and_steer_around_broken_instructions();
  std::optional<OffloadOptions> offload;
  if (!read_offload(arguments, session, offload)) return Exit::bad_input;
  Diagnostics found;
  auto trained = load_run({arguments.get("RUN"), arguments.get("weights"), {}, session.environment, offload},
                          session.registry, found);
  session.err << render(found, session.err_style.colour);
  if (!trained) return Exit::bad_input;
  require_another_output(arguments, files_of(*trained));
  const bool texts = trained->data.vocabulary > 0;
  std::vector<std::string> inputs = inputs_of(arguments.all("INPUT"), texts, *trained->interpreter());
  if (trained->data.images) inputs = with_folders_opened(inputs);
  if (!texts) require_another_output(arguments, inputs);
  Predictions all = predict(*trained, inputs);
  for (Prediction& one : all) one.classes.resize(std::min(top, one.classes.size()));
  const std::string text = format == "csv" ? as_csv(all) : format == "json" ? as_json(all) : as_text(all);
  if (arguments.has("out")) {
    write(text, arguments.get("out"));
  } else {
    session.out << text;
  }
  return Exit::done;
}

}  // namespace

Command predict_command() {
  Command command{
      .name = "predict",
      .summary = "Predict with a trained model: images, table rows or sentences.",
      .arguments = {{"RUN", "A run folder, or the name of a run (its last one).", Argument::Count::one,
                     Word::file},
                    {"INPUT",
                     "An image file or a folder of them, a table like the one the run was trained on, a row, "
                     "a file of "
                     "tensors, or a sentence; @FILE and - (standard input) hold one per line.",
                     Argument::Count::at_least_one, Word::file}},
      .options =
          {{.name = "top",
            .doc = "Show the N most likely classes; default: 1. Independent labels are all shown.",
            .value = "N"},
           {.name = "format", .doc = "text, csv or json; default: text.", .value = "FORMAT"},
           {.name = "out", .doc = "Write to this file.", .value = "FILE", .letter = 'o', .word = Word::file},
           {.name = "weights",
            .doc = "best, model (the last step) or a file; default: best if the run kept it.",
            .value = "WHICH",
            .word = Word::file}},
      .examples = {{"runner predict runs/sign_digits photo1.jpg photo2.png --top 3", "images"},
                   {"runner predict adult_tabular people.csv --format csv -o said.csv",
                    "each row of a table"},
                   {"runner predict sentiment - --format json",
                    "one sentence per line, from standard input"}},
      .run = &run,
      .details =
          "Inputs are read as the dataset of the run reads its validation set; the training data is not "
          "needed. Images\nare resized if all images of the dataset have one size. If an input cannot be "
          "read, that is an error and\nnothing is written."};
  command.options.insert(command.options.end(), offload_options().begin(), offload_options().end());
  return command;
}

}  // namespace runner::cli
