// Examines the user's own files and chooses a recipe to start from, with settings that fit them.
#include <algorithm>
#include <limits>
#include <optional>
#include <ranges>
#include <set>

#include "components/contract/data_error.hpp"
#include "components/datasets/read/image_file.hpp"
#include "components/datasets/read/labelled_files.hpp"
#include "registry/base/ascii.hpp"
#include "registry/base/utf8.hpp"
#include "registry/base/wording.hpp"
#include "registry/files/mapped_file.hpp"
#include "registry/files/text_encoding.hpp"
#include "registry/value.hpp"
#include "runner/cli/starters/sheet.hpp"
#include "runner/cli/starters/starting_point.hpp"
#include "runner/terminal/text.hpp"
#include "runner/toml/override.hpp"
#include "runner/toml/reference.hpp"

namespace runner::cli {

namespace {

namespace fs = std::filesystem;
using Found = std::variant<StartingPoint, Problem>;

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

// ---- images: a folder for each class, or folders of such folders

// The shorter side of the first image that can be read.
std::int64_t shorter_side(const std::vector<fs::path>& images) {
  Scratch scratch;
  for (const fs::path& image : images) {
    try {
      const ImageView view = read_image(image, scratch);
      return std::min(view.height, view.width);
    } catch (const DataError&) {
      if (image == images.back()) throw;
    }
  }
  return 0;
}

// The largest usual size that does not enlarge the first image.
std::int64_t side_for(const std::vector<fs::path>& images) {
  const std::int64_t shorter = shorter_side(images);
  for (const std::int64_t side : {224, 128, 64}) {
    if (shorter >= side) return side;
  }
  return 32;
}

// A training set and a validation set without folders in them are not two classes.
bool are_classes(const std::vector<fs::path>& folders) {
  const auto is_part = [](const fs::path& folder) {
    const std::string name = folder.filename().string();
    return is_usual_name(SplitPart::train, name) || is_usual_name(SplitPart::eval, name);
  };
  return folders.size() > 1 && !std::ranges::all_of(folders, is_part);
}

Found images(const fs::path& data) {
  if (!fs::is_directory(data))
    return Problem{data.string() +
                   " is not a folder: put the images of each class into a folder of their own"};
  const auto train = split_folders(data, SplitPart::train), eval = split_folders(data, SplitPart::eval);
  Skipped ignored;  // the run warns about them
  const auto images = images_in(train.empty() ? data : data / train.front(), ignored);
  if (images.empty())
    return Problem{"there is no image (" + std::string(image_endings) + ") in " + data.string()};
  StartingPoint start{task_recipe("image-folder"), {setting("dataset.dir", full_path(data))}};
  if (!train.empty()) {
    if (eval.empty())
      return Problem{data.string() + " has a folder " + train.front() + ", but none to evaluate with",
                     {"name it val or test, with a folder for each class: " + (data / "val").string()}};
    if (train.front() != "train") start.overrides.push_back(setting("dataset.train", train.front()));
    start.overrides.push_back(setting("dataset.eval", eval.front()));
  } else if (!are_classes(entries(data, /*folders=*/true))) {
    return Problem{"the images in " + data.string() + " are not in classes",
                   {"put those of each class into a folder of its own"}};
  } else {
    start.overrides.emplace_back("dataset.split=0.2");
  }
  const std::string side = std::to_string(side_for(images));
  start.overrides.push_back("dataset.transform.0.height=" + side);
  start.overrides.push_back("dataset.transform.0.width=" + side);
  if (side == "32") start.overrides.emplace_back("model.stem=cifar");
  return start;
}

// ---- tables

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

// A first line such as "150,4,setosa,versicolor,virginica", which says what the table holds. Names may be
// numbers that count, as pandas writes them.
bool describes_the_table(const Sheet& sheet) {
  double last = -1;
  bool numbers = false, count = true;
  for (const Column& column : sheet.columns) {
    const auto number = parse_number(column.name);
    if (!number) continue;
    count = count && (numbers ? *number == last + 1 : *number == 0 || *number == 1);
    numbers = true;
    last = *number;
  }
  return sheet.header && numbers && !count;
}

// As written by to_csv of pandas, and by its read_csv and to_csv after that: "", "Unnamed: 0", "Unnamed:
// 0.1".
bool has_row_numbers(const Column& column) {
  return (column.name.empty() || column.name.starts_with("Unnamed: 0")) && column.numeric() &&
         column.fractions == 0;
}

const Column* column_called(const Sheet& sheet, std::initializer_list<std::string_view> names) {
  for (const Column& column : sheet.columns) {
    if (std::ranges::find(names, ascii_lower(column.name)) != names.end()) return &column;
  }
  return nullptr;
}

// What the recipe on the command line says about reading the file. Mistakes are reported when it is resolved.
SheetFormat typed_format(const std::vector<std::string>& typed) {
  Value recipe;
  Diagnostics ignored;
  const auto no_default = [](const Value&, std::string_view) { return std::optional<Value>(); };
  for (const std::string& argument : typed) apply_override(argument, 0, recipe, no_default, ignored);
  SheetFormat format;
  const Value* dataset = recipe.as<Table>()->find("dataset");
  const Table* settings = dataset ? dataset->as<Table>() : nullptr;
  if (!settings) return format;
  if (const Value* lines = settings->find("skip_lines"); lines && lines->as<std::int64_t>())
    format.skip_lines = std::min<std::int64_t>(*lines->as<std::int64_t>(), 1'000'000'000);  // more is refused
  if (const Value* comment = settings->find("comment"); comment && comment->as<std::string>())
    format.comment = *comment->as<std::string>();
  if (const Value* header = settings->find("header"); header && header->as<bool>())
    format.header = *header->as<bool>();
  return format;
}

std::string first_line_note(const fs::path& file) {
  return "the first line of " + file.string() +
         " is taken as data; the columns are named column1, column2 ..";
}

// The usual name of one, or the last column; a separator at the end of the lines makes a column of nothing.
const Column& target_of(const Sheet& sheet) {
  if (const Column* named = column_called(sheet, {"target", "label", "class", "y", "outcome"})) return *named;
  const auto from_the_end = std::views::reverse(sheet.columns);
  const auto last = std::ranges::find_if(
      from_the_end, [](const Column& column) { return !column.name.empty() && column.filled > 0; });
  return last == from_the_end.end() ? sheet.columns.back() : *last;
}

Found table(const fs::path& data, const std::vector<std::string>& typed) {
  constexpr std::size_t most_classes = 20;  // with more distinct numbers, it is a regression
  if (fs::is_directory(data)) return Problem{data.string() + " is a folder; name the file with the table"};
  if (!fs::is_regular_file(data)) return Problem{"there is no file " + data.string()};
  const SheetFormat format = typed_format(typed);
  const Sheet sheet = look_at(data, format);
  if (sheet.columns.size() < 2)
    return Problem{data.string() + " has fewer than two columns",
                   {"if other lines come before the table, skip them: dataset.skip_lines=1, or "
                    "dataset.comment=# for those that start with #"}};
  const Column* target = &target_of(sheet);
  const bool regression =
      target->numeric() && (target->fractions > 0 || target->values.size() > most_classes);
  StartingPoint start{task_recipe(regression ? "regression" : "table"),
                      {setting("dataset.train", full_path(data)), setting("dataset.target", target->name)}};
  if (sheet.separator != ",") start.overrides.push_back(setting("dataset.separator", sheet.separator));
  const NumberFormat notation = sheet.notation();
  if (notation.decimal != '.') start.overrides.push_back(setting("dataset.decimal", {notation.decimal}));
  if (notation.thousands) start.overrides.push_back(setting("dataset.thousands", {notation.thousands}));
  if (!notation.units.empty()) start.overrides.push_back("dataset.units=" + list_of(notation.units));
  if (!sheet.header) {
    start.overrides.push_back("dataset.columns=" + names_of(sheet.columns));
    start.notes.push_back(first_line_note(data) + "; dataset.header=true takes it as their names");
  }
  if (!format.header && describes_the_table(sheet))
    start.notes.push_back(
        "the first line of " + data.string() +
        " is taken as the names of the columns, but has numbers; if it is not part of the table, "
        "dataset.skip_lines=1 skips it");
  const auto is_ignored = [&](const Column& column) { return &column != target && has_row_numbers(column); };
  std::vector<Column> ignored;
  std::ranges::copy_if(sheet.columns, std::back_inserter(ignored), is_ignored);
  if (!ignored.empty()) start.overrides.push_back("dataset.ignore=" + names_of(ignored));
  return start;
}

// ---- sentences: a table, or a file for each class

bool is_latin1(const fs::path& file) {
  const MappedFile mapped(file);
  const std::string_view text = mapped.text();
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

Found sentences(const fs::path& data) {
  StartingPoint start{task_recipe("sentences")};
  if (fs::is_directory(data)) {
    const auto files = entries(data, /*folders=*/false);
    if (files.size() < 2)
      return Problem{data.string() + " has fewer than two files",
                     {"put the sentences of each class into a file, one per line"}};
    start.overrides.emplace_back("~dataset.file");
    if (std::ranges::any_of(files, is_latin1))
      start.overrides.push_back(setting("dataset.encoding", "latin-1"));
    const auto names = class_names(files);
    for (std::size_t i = 0; i < files.size(); ++i)
      start.overrides.push_back(setting("dataset.files." + quote_toml(names[i]), full_path(files[i])));
    return start;
  }
  if (!fs::is_regular_file(data)) return Problem{"there is neither a file nor a folder " + data.string()};
  const Sheet sheet = look_at(data);
  if (sheet.columns.size() < 2)
    return Problem{data.string() + " is not a table of sentences and classes",
                   {"it should have a column of sentences and one of classes, or be a folder with a file for "
                    "each class"}};
  const auto& text = *std::ranges::max_element(sheet.columns, {}, &Column::letters);
  const Column* label = column_called(sheet, {"label", "class", "target", "category", "sentiment", "y"});
  if (!label || label == &text) {
    const auto few = [&](const Column& column) {
      return &column == &text || column.filled == 0 ? std::numeric_limits<std::size_t>::max()
                                                    : column.values.size();
    };
    label = &*std::ranges::min_element(sheet.columns, {}, few);
  }
  start.overrides.push_back(setting("dataset.file", full_path(data)));
  start.overrides.push_back(setting("dataset.text", text.name));
  start.overrides.push_back(setting("dataset.label", label->name));
  if (!sheet.header) {
    start.overrides.push_back("dataset.columns=" + names_of(sheet.columns));
    start.notes.push_back(first_line_note(data));
  }
  return start;
}

// ---- a language model: any text

Found language_model(const fs::path& data) {
  constexpr std::uintmax_t much = 4 << 20;  // bytes: from more text, a BPE tokenizer can be trained
  std::uintmax_t size = 0;
  if (fs::is_regular_file(data)) {
    size = fs::file_size(data);
  } else if (fs::is_directory(data)) {
    for (const fs::path& file : entries(data, /*folders=*/false)) {
      if (file.extension() == ".txt") size += fs::file_size(file);
    }
    if (size == 0) return Problem{"there is no text (.txt) in " + data.string()};
  } else {
    return Problem{"there is neither a file nor a folder " + data.string()};
  }
  StartingPoint start{task_recipe("language-model"), {setting("dataset.file", full_path(data))}};
  start.overrides.push_back(size > much ? "dataset.tokenizer=bpe" : "dataset.tokenizer=char");
  start.overrides.emplace_back("dataset.length=64");
  for (const char* small : {"model.layers=4", "model.heads=4", "model.width=128"})
    start.overrides.emplace_back(small);
  return start;
}

}  // namespace

const std::vector<std::string>& data_tasks() {
  static const std::vector<std::string> tasks{"images", "text", "table", "language-model"};
  return tasks;
}

Found start_from_data(const std::string& task, const fs::path& data, const std::vector<std::string>& typed) {
  if (task == "images") return images(data);
  if (task == "text") return sentences(data);
  if (task == "table") return table(data, typed);
  if (task == "language-model") return language_model(data);
  return Problem{
      "there is no task " + in_quotes(task), {"tasks: " + joined(data_tasks())}, "runner new --help"};
}

}  // namespace runner::cli
