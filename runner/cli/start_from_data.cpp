// Examines the user's own files and chooses a recipe to start from, with settings that fit them.
#include <algorithm>
#include <cctype>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "components/contract/data_error.hpp"
#include "components/datasets/support/image_file.hpp"
#include "components/support/io/mapped_file.hpp"
#include "components/support/text_encoding.hpp"
#include "registry/utf8.hpp"
#include "registry/value.hpp"
#include "registry/wording.hpp"
#include "runner/cli/sheet.hpp"
#include "runner/cli/starting_point.hpp"
#include "runner/terminal/text.hpp"

namespace runner::cli {

namespace {

namespace fs = std::filesystem;
using Found = std::variant<StartingPoint, Problem>;

std::string setting(const std::string& key, const std::string& value) {
  return key + "=" + quote_toml(value);
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

Found images(const fs::path& data) {
  if (!fs::is_directory(data))
    return Problem{data.string() +
                   " is not a folder: put the images of each class into a folder of their own"};
  const auto images = images_in(fs::is_directory(data / "train") ? data / "train" : data);
  if (images.empty()) return Problem{"there is no image (.jpg, .jpeg or .png) in " + data.string()};
  StartingPoint start{task_recipe("image-folder"), {setting("dataset.dir", full_path(data))}};
  if (fs::is_directory(data / "train")) {
    const std::vector<std::string> usual{"val", "valid", "validation", "eval", "test"};
    const auto eval =
        std::ranges::find_if(usual, [&](const auto& name) { return fs::is_directory(data / name); });
    if (eval == usual.end())
      return Problem{data.string() + " has a folder train, but none to evaluate with",
                     {"name it val or test: " + (data / "val").string()}};
    start.overrides.push_back(setting("dataset.eval", *eval));
  } else if (entries(data, /*folders=*/true).size() < 2) {
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

std::string names_of(const std::vector<Column>& columns) {
  std::string list;
  for (const Column& column : columns) list += (list.empty() ? "" : ", ") + quote_toml(column.name);
  return "[" + list + "]";
}

// As written by to_csv of pandas, and by its read_csv and to_csv after that: "", "Unnamed: 0", "Unnamed:
// 0.1".
bool has_row_numbers(const Column& column) {
  return (column.name.empty() || column.name.starts_with("Unnamed: 0")) && column.numeric();
}

const Column* column_called(const Sheet& sheet, std::initializer_list<std::string_view> names) {
  for (const Column& column : sheet.columns) {
    std::string name = column.name;
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    if (std::ranges::find(names, name) != names.end()) return &column;
  }
  return nullptr;
}

Found table(const fs::path& data) {
  constexpr std::size_t most_classes = 20;  // with more distinct numbers, it is a regression
  if (!fs::is_regular_file(data)) return Problem{"there is no file " + data.string()};
  const Sheet sheet = look_at(data);
  if (sheet.columns.size() < 2) return Problem{data.string() + " has fewer than two columns"};
  const Column* target = column_called(sheet, {"target", "label", "class", "y", "outcome"});
  if (!target) target = &sheet.columns.back();
  const bool regression = target->numeric() && target->values.size() > most_classes;
  StartingPoint start{task_recipe(regression ? "regression" : "table"),
                      {setting("dataset.train", full_path(data)), setting("dataset.target", target->name)}};
  if (sheet.separator != ",") start.overrides.push_back(setting("dataset.separator", sheet.separator));
  if (sheet.decimal_comma()) start.overrides.push_back(setting("dataset.decimal", ","));
  if (!sheet.header) start.overrides.push_back("dataset.columns=" + names_of(sheet.columns));
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
  if (!sheet.header) start.overrides.push_back("dataset.columns=" + names_of(sheet.columns));
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

Found start_from_data(const std::string& task, const fs::path& data) {
  if (task == "images") return images(data);
  if (task == "text") return sentences(data);
  if (task == "table") return table(data);
  if (task == "language-model") return language_model(data);
  return Problem{
      "there is no task " + in_quotes(task), {"tasks: " + joined(data_tasks())}, "runner new --help"};
}

}  // namespace runner::cli
