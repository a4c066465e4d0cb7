// Sentences with classes, in a table or a file for each class; and text for language models.
#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <set>

#include "components/contract/data_error.hpp"
#include "components/datasets/read/file_text.hpp"
#include "components/datasets/read/labelled_sentences.hpp"
#include "components/datasets/read/text_file.hpp"
#include "components/tokenizers/tokenizers.hpp"
#include "registry/base/utf8.hpp"
#include "registry/base/wording.hpp"
#include "registry/files/text_encoding.hpp"
#include "runner/cli/starters/own_data.hpp"
#include "runner/toml/reference.hpp"

namespace runner::cli {

namespace fs = std::filesystem;

namespace {

bool is_latin1(const fs::path& file) {
  const FileText content(file);
  const std::string_view text = content.text();
  return !is_utf8(text) && likely_content(text) == LikelyContent::western;
}

// The file names without their extensions, if they still differ: rt-polarity.neg and rt-polarity.pos keep
// theirs.
std::vector<std::string> class_names(const std::vector<fs::path>& files) {
  std::vector<std::string> names;
  for (const fs::path& file : files) names.push_back(file.stem().string());
  if (std::set(names.begin(), names.end()).size() == files.size()) return names;
  for (std::size_t i = 0; i < files.size(); ++i) names[i] = files[i].filename().string();
  return names;
}

// The tokens of a text with the default tokenizer, which splits it into words.
std::int64_t tokens_in(std::string_view text) {
  static const std::unique_ptr<Tokenizer> words = learn_words({}, 2);
  std::vector<Token> tokens;
  words->encode(text, tokens);
  return std::ssize(tokens);
}

// A length that leaves nearly all texts whole; models take longer, the longer it is.
void choose_tokens(std::vector<std::int64_t> lengths, StartingPoint& start) {
  constexpr std::int64_t least = 16, most = 512, step = 16;
  if (lengths.empty()) return;
  std::ranges::sort(lengths);
  const std::int64_t nearly_all = lengths[(lengths.size() * 99 + 99) / 100 - 1];
  const std::int64_t length = std::clamp((nearly_all + step - 1) / step * step, least, most);
  start.overrides.push_back("dataset.length=" + std::to_string(length));
  const auto longer = std::ranges::count_if(lengths, [&](std::int64_t one) { return one > length; });
  if (longer > 0) {
    start.notes.push_back(std::to_string(longer) + " of " + std::to_string(lengths.size()) +
                          " texts have more than " + std::to_string(length) +
                          " tokens and are cut there (dataset.length); the longest has " +
                          std::to_string(lengths.back()));
  }
}

Found sentences_in_files(const fs::path& data) {
  StartingPoint start{task_recipe("sentences")};
  const auto files = entries(data, /*folders=*/false);
  if (files.size() < 2)
    return Problem{data.string() + " has fewer than two files",
                   {"put the sentences of each class into a file, one per line"}};
  start.overrides.emplace_back("~dataset.file");
  const bool latin1 = std::ranges::any_of(files, is_latin1);
  if (latin1) start.overrides.push_back(setting("dataset.encoding", "latin-1"));
  const auto names = class_names(files);
  std::map<std::string, fs::path> classes;
  for (std::size_t i = 0; i < files.size(); ++i) {
    classes[names[i]] = full_path(files[i]);
    start.overrides.push_back(setting("dataset.files." + quote_toml(names[i]), full_path(files[i])));
  }
  const LabelledSentences all = read_class_files(classes, latin1 ? TextEncoding::latin1 : TextEncoding::utf8);
  std::vector<std::int64_t> lengths;
  for (const std::string& text : all.texts) lengths.push_back(tokens_in(text));
  choose_tokens(std::move(lengths), start);
  choose_length(std::ssize(all.texts), 2000, 64, 10, start);
  return start;
}

const Column* column_of_name(const Sheet& sheet, const std::string& name) {
  const auto found = std::ranges::find(sheet.columns, name, &Column::name);
  return name.empty() || found == sheet.columns.end() ? nullptr : &*found;
}

// Sentences, not names: most values differ, and have several words.
bool holds_texts(const Column& column, const Column& longest) {
  const auto words = std::ranges::count_if(
      column.values, [](const auto& value) { return value.first.find(' ') != std::string::npos; });
  return !column.numeric() && 4 * column.letters >= longest.letters &&
         2 * words > std::ssize(column.values) && 2 * std::ssize(column.values) > column.filled;
}

// The columns of sentences and of classes, and why these.
struct SentenceColumns {
  const Column *text, *label;
  std::string why_text, why_label;
};

SentenceColumns sentence_columns(const Sheet& sheet, const Typed& typed) {
  SentenceColumns found{column_of_name(sheet, typed.text), column_of_name(sheet, typed.label), "", ""};
  if (!found.text) {
    found.text = &*std::ranges::max_element(sheet.columns, {}, &Column::letters);
    found.why_text = "it has the longest values";
  }
  if (found.label) return found;
  found.label = column_called(sheet, {"label", "class", "target", "category", "sentiment", "y"});
  found.why_label = "its name says so";
  if (found.label && found.label != found.text) return found;
  const auto few = [&](const Column& column) {
    return &column == found.text || column.filled == 0 ? std::numeric_limits<std::size_t>::max()
                                                       : column.values.size();
  };
  found.label = &*std::ranges::min_element(sheet.columns, {}, few);
  found.why_label = "it has the fewest different values";
  return found;
}

}  // namespace

Found start_from_sentences(const fs::path& data, const std::vector<std::string>& typed) {
  if (fs::is_directory(data)) return sentences_in_files(data);
  if (!fs::is_regular_file(data)) return Problem{"there is neither a file nor a folder " + data.string()};
  const Typed known = typed_settings(typed);
  const Sheet sheet = look_at(data, known.format);
  if (sheet.columns.size() < 2)
    return Problem{data.string() + " is not a table of sentences and classes",
                   {"it should have a column of sentences and one of classes, or be a folder with a file for "
                    "each class"}};
  const auto [text, label, why_text, why_label] = sentence_columns(sheet, known);
  for (const Column& other : sheet.columns) {
    if (!known.text.empty() || &other == text || &other == label || !holds_texts(other, *text)) continue;
    return Problem{data.string() + " has two columns of text, " + in_quotes(text->name) + " and " +
                       in_quotes(other.name) + ", and a model for sentences reads one",
                   {"join them into one column, or choose one: runner new --task text " + data.string() +
                    " dataset.text=" + text->name}};
  }
  if (label->numeric() && (label->fractions > 0 || label->values.size() > 20))
    return Problem{
        "column " + in_quotes(label->name) + " has numbers of all sizes, and sentences can only have classes",
        {"another column with the classes: runner new --task text " + data.string() + " dataset.label=NAME"}};
  if (const auto problem = several_labels(*label)) return *problem;
  StartingPoint start{task_recipe("sentences"),
                      {setting("dataset.file", full_path(data)), setting("dataset.text", text->name),
                       setting("dataset.label", label->name)}};
  if (!why_text.empty())
    start.notes.push_back("the sentences are in column " + in_quotes(text->name) + ": " + why_text +
                          "; another one: dataset.text=NAME");
  if (!why_label.empty())
    start.notes.push_back("the classes are in column " + in_quotes(label->name) + ": " + why_label +
                          "; another one: dataset.label=NAME");
  say_lines(data, sheet, start);
  std::vector<std::int64_t> lengths;
  for (const auto& [value, count] : text->values) lengths.push_back(tokens_in(value));
  choose_tokens(std::move(lengths), start);
  choose_length(sheet.rows, 2000, 64, 10, start);
  return start;
}

Found start_from_text(const fs::path& data, const std::vector<std::string>& typed) {
  constexpr std::uintmax_t much = 4 << 20;  // bytes: from more text, a BPE tokenizer can be trained
  constexpr std::int64_t length = 64;
  if (!fs::exists(data)) return Problem{"there is neither a file nor a folder " + data.string()};
  const Typed known = typed_settings(typed);
  const TextFile content(data, known.text.empty() ? std::nullopt : std::optional(known.text), /*raw=*/false);
  const std::size_t size = content.text().size();
  StartingPoint start{task_recipe("language-model"), {setting("dataset.file", full_path(data))}};
  start.overrides.push_back(size > much ? "dataset.tokenizer=bpe" : "dataset.tokenizer=char");
  start.overrides.push_back("dataset.length=" + std::to_string(length));
  for (const char* small : {"model.layers=4", "model.heads=4", "model.width=128"})
    start.overrides.emplace_back(small);
  choose_length(static_cast<std::int64_t>(size) / length, 1000, 16, 1, start);
  return start;
}

}  // namespace runner::cli
