// Examines the user's own files and chooses a recipe to start from, with settings that fit them.
#include <algorithm>
#include <ranges>
#include <set>

#include "registry/base/ascii.hpp"
#include "registry/base/trimmed.hpp"
#include "registry/base/wording.hpp"
#include "registry/value.hpp"
#include "runner/cli/starters/own_data.hpp"
#include "runner/terminal/text.hpp"
#include "runner/toml/override.hpp"
#include "runner/toml/reference.hpp"

namespace runner::cli {

namespace fs = std::filesystem;

std::string setting(const std::string& key, const std::string& value) {
  return key + "=" + quote_toml(escape_references(value));
}

std::string full_path(const fs::path& path) { return fs::absolute(path).lexically_normal().string(); }

std::vector<fs::path> entries(const fs::path& folder, bool folders) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_directory() == folders && !entry.path().filename().string().starts_with('.'))
      found.push_back(entry.path());
  }
  std::ranges::sort(found);
  return found;
}

std::string list_of(const std::vector<std::string>& texts) {
  std::vector<std::string> quoted;
  for (const std::string& text : texts) quoted.push_back(quote_toml(escape_references(text)));
  return "[" + joined(quoted) + "]";
}

std::string names_of(const std::vector<Column>& columns) {
  std::vector<std::string> names;
  for (const Column& column : columns) names.push_back(column.name);
  return list_of(names);
}

const Column* column_called(const Sheet& sheet, std::initializer_list<std::string_view> names) {
  for (const Column& column : sheet.columns) {
    if (std::ranges::find(names, ascii_lower(column.name)) != names.end()) return &column;
  }
  return nullptr;
}

Typed typed_settings(const std::vector<std::string>& typed) {
  Value recipe;
  Diagnostics ignored;
  const auto no_default = [](const Value&, std::string_view) { return std::optional<Value>(); };
  for (const std::string& argument : typed) apply_override(argument, 0, recipe, no_default, ignored);
  Typed found;
  const Value* dataset = recipe.as<Table>()->find("dataset");
  const Table* settings = dataset ? dataset->as<Table>() : nullptr;
  if (!settings) return found;
  if (const Value* lines = settings->find("skip_lines"); lines && lines->as<std::int64_t>())
    found.format.skip_lines =
        std::min<std::int64_t>(*lines->as<std::int64_t>(), 1'000'000'000);  // more is refused
  if (const Value* header = settings->find("header"); header && header->as<bool>())
    found.format.header = *header->as<bool>();
  for (const auto& [key, text] : {std::pair{"comment", &found.format.comment},
                                  {"target", &found.target},
                                  {"text", &found.text},
                                  {"label", &found.label}}) {
    if (const Value* value = settings->find(key); value && value->as<std::string>())
      *text = *value->as<std::string>();
  }
  return found;
}

void say_lines(const fs::path& data, const Sheet& sheet, StartingPoint& start) {
  if (sheet.skip_lines > 0) {
    const std::string count = std::to_string(sheet.skip_lines);
    start.overrides.push_back("dataset.skip_lines=" + count);
    start.notes.push_back(
        (sheet.skip_lines == 1 ? "the first line of " + data.string() + " is"
                               : "the first " + count + " lines of " + data.string() + " are") +
        " skipped as a title; dataset.skip_lines=0 reads " + (sheet.skip_lines == 1 ? "it" : "them"));
  }
  if (!sheet.header) {
    start.overrides.push_back("dataset.columns=" + names_of(sheet.columns));
    start.notes.push_back("the first line of " + data.string() +
                          " is taken as data; the columns are named column1, column2 ..");
  }
}

namespace {

// The separator of cells such as "red|blue" beside "red": several labels, which are not classes of their own.
char joins_labels(const Column& column) {
  for (const char separator : {'|', ';', ','}) {
    std::set<std::string, std::less<>> parts;
    std::size_t joined = 0;
    for (const auto& [value, count] : column.values) {
      joined += value.find(separator) != std::string::npos;
      for (std::size_t at = 0; at <= value.size();) {
        const std::size_t end = std::min(value.find(separator, at), value.size());
        parts.emplace(trimmed(std::string_view(value).substr(at, end - at)));
        at = end + 1;
      }
    }
    // Each part is used again, so that there are fewer of them than of their combinations.
    if (joined > 0 && column.values.size() > 2 && parts.size() < column.values.size()) return separator;
  }
  return 0;
}

}  // namespace

std::optional<Problem> several_labels(const Column& label) {
  const char separator = joins_labels(label);
  if (!separator) return std::nullopt;
  const auto example = std::ranges::find_if(
      label.values, [&](const auto& value) { return value.first.find(separator) != std::string::npos; });
  return Problem{"column " + in_quotes(label.name) + " has several labels in one value, such as " +
                     in_quotes(example->first) + ", and each combination would be a class of its own",
                 {"for independent labels: dataset = \"tensors\" with targets of 0 and 1 for each label, and "
                  "loss = \"bce\"",
                  "to predict one class, keep one label in each row"}};
}

void choose_length(std::int64_t examples, std::int64_t steps, std::int64_t batch, std::int64_t epochs,
                   StartingPoint& start) {
  constexpr std::int64_t most_epochs = 300, least_batch = 16;
  const std::int64_t training = std::max<std::int64_t>(1, examples - examples / 5);
  while (batch > least_batch && training / batch < 20) batch /= 2;
  const std::int64_t each = std::max<std::int64_t>(1, training / batch);
  const std::int64_t wanted = std::clamp((steps + each - 1) / each, epochs, most_epochs);
  start.overrides.push_back("loader.batch_size=" + std::to_string(batch));
  if (wanted <= epochs) return;
  start.overrides.push_back("train.epochs=" + std::to_string(wanted));
  start.overrides.emplace_back("eval.every=0.05run");
}

const std::vector<std::string>& data_tasks() {
  static const std::vector<std::string> tasks{"images", "text", "table", "language-model"};
  return tasks;
}

Found start_from_data(const std::string& task, const fs::path& data, const std::vector<std::string>& typed) {
  if (task == "images") return start_from_images(data);
  if (task == "text") return start_from_sentences(data, typed);
  if (task == "table") return start_from_table(data, typed);
  if (task == "language-model") return start_from_text(data, typed);
  return Problem{
      "there is no task " + in_quotes(task), {"tasks: " + joined(data_tasks())}, "runner new --help"};
}

}  // namespace runner::cli
