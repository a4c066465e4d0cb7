#include "components/datasets/read/labelled_files.hpp"

#include <algorithm>
#include <utility>

#include "components/datasets/dataset.hpp"
#include "components/datasets/read/image_file.hpp"
#include "components/datasets/stratified_split.hpp"
#include "registry/base/ascii.hpp"
#include "registry/files/folders.hpp"

namespace runner {

namespace {

namespace fs = std::filesystem;

// Paths relative to `folder`, sorted.
std::vector<std::string> find_images(const fs::path& folder, const std::string& class_name,
                                     Skipped& skipped) {
  std::vector<std::string> images;
  each_image(folder / class_name, skipped,
             [&](const fs::path& file) { images.push_back(file.lexically_relative(folder).string()); });
  std::ranges::sort(images);
  return images;
}

bool holds_folders(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->is_directory(error) && !is_hidden(entry->path())) return true;
  }
  return false;
}

[[noreturn]] void unreadable(const fs::filesystem_error& error) {
  throw DataError("Cannot read the folder " + error.path1().string() + ": " + error.code().message() + ".");
}

// The most usual first.
const std::vector<std::string>& usual_names(SplitPart part) {
  static const std::vector<std::string> train{"train", "training"};
  static const std::vector<std::string> eval{"val", "valid", "validation", "eval", "test"};
  return part == SplitPart::train ? train : eval;
}

}  // namespace

void LabelledFiles::add(const std::string& path_below_folder, std::int64_t label) {
  names_ += path_below_folder;
  ends_.push_back(names_.size());
  labels_.push_back(static_cast<std::int32_t>(label));
}

std::string_view LabelledFiles::name(std::int64_t index) const {
  const auto position = static_cast<std::size_t>(index);
  const std::size_t start = position == 0 ? 0 : ends_[position - 1];
  return std::string_view(names_).substr(start, ends_[position] - start);
}

fs::path LabelledFiles::path(std::int64_t index) const { return folder_ / name(index); }

LabelledFiles LabelledFiles::selection(std::span<const std::int64_t> indices) const {
  LabelledFiles chosen(folder_);
  for (const std::int64_t index : indices) chosen.add(std::string(name(index)), label(index));
  return chosen;
}

std::vector<std::string> class_folders(const fs::path& folder) {
  std::vector<std::string> classes;
  try {
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (entry.is_directory() && !is_hidden(entry.path()))
        classes.push_back(entry.path().filename().string());
    }
  } catch (const fs::filesystem_error& error) {
    unreadable(error);
  }
  if (classes.empty()) {
    throw DataError("There are no classes in " + folder.string() +
                    ": it should hold a folder for each class, with the images of the class in it.");
  }
  std::ranges::sort(classes);
  return classes;
}

bool is_usual_name(SplitPart part, const std::string& folder) {
  return std::ranges::find(usual_names(part), ascii_lower(folder)) != usual_names(part).end();
}

std::vector<std::string> split_folders(const fs::path& dir, SplitPart part) {
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator entry(dir, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (is_usual_name(part, name) && holds_folders(entry->path())) found.push_back(name);
  }
  std::ranges::sort(found, {}, [&](const std::string& name) {
    return std::pair(std::ranges::find(usual_names(part), ascii_lower(name)), name);
  });
  return found;
}

LabelledFiles list_images(const fs::path& folder, const std::vector<std::string>& classes) {
  LabelledFiles files(folder);
  Skipped skipped;
  try {
    for (std::size_t label = 0; label < classes.size(); ++label) {
      const auto images = find_images(folder, classes[label], skipped);
      if (images.empty()) {
        warn_about(skipped, folder);
        throw DataError("There is no image (" + std::string(image_endings) + ") in " +
                        (folder / classes[label]).string() +
                        ". Put some there, or remove the folder if it is not a class.");
      }
      for (const std::string& image : images) files.add(image, static_cast<std::int64_t>(label));
    }
    for (const auto& entry : fs::directory_iterator(folder)) {  // a link may have led to a class
      if (!is_hidden(entry.path()) && leads_nowhere(entry.path())) skipped.broken_links.add(entry.path());
    }
  } catch (const fs::filesystem_error& error) {
    unreadable(error);
  }
  warn_about(skipped, folder);
  return files;
}

FileSplit split_by_class(const LabelledFiles& files, double eval_share, std::uint64_t seed) {
  std::vector<std::int64_t> labels;
  for (std::int64_t i = 0; i < files.size(); ++i) labels.push_back(files.label(i));
  const IndexSplit split = stratified_split(labels, eval_share, seed);
  return {files.selection(split.train), files.selection(split.eval)};
}

}  // namespace runner
