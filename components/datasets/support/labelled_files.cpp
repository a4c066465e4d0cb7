#include "components/datasets/support/labelled_files.hpp"

#include <algorithm>

#include "components/datasets/dataset.hpp"
#include "components/datasets/support/image_file.hpp"
#include "components/support/stratified_split.hpp"
#include "registry/log.hpp"

namespace runner {

namespace {

namespace fs = std::filesystem;

struct Found {
  std::vector<std::string> images;  // paths relative to `folder`, sorted
  std::int64_t others = 0;          // files that are not images
  fs::path an_other;
};

Found find_images(const fs::path& folder, const std::string& class_name) {
  Found found;
  each_visible_file(folder / class_name, [&](const fs::path& file) {
    if (is_image_file(file)) {
      found.images.push_back(file.lexically_relative(folder).string());
    } else {
      ++found.others;
      found.an_other = file;
    }
  });
  std::ranges::sort(found.images);
  return found;
}

[[noreturn]] void unreadable(const fs::filesystem_error& error) {
  throw DataError("Cannot read the folder " + error.path1().string() + ": " + error.code().message() + ".");
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

LabelledFiles list_images(const fs::path& folder, const std::vector<std::string>& classes) {
  LabelledFiles files(folder);
  std::int64_t others = 0;
  fs::path an_other;
  try {
    for (std::size_t label = 0; label < classes.size(); ++label) {
      const Found found = find_images(folder, classes[label]);
      if (found.images.empty()) {
        throw DataError("There is no image (.jpg, .jpeg or .png) in " + (folder / classes[label]).string() +
                        ". Put some there, or remove the folder if it is not a class.");
      }
      for (const std::string& image : found.images) files.add(image, static_cast<std::int64_t>(label));
      others += found.others;
      if (found.others > 0) an_other = found.an_other;
    }
  } catch (const fs::filesystem_error& error) {
    unreadable(error);
  }
  if (others > 0) {
    log::warning("{} files in {} are skipped because they are neither JPEG nor PNG, for example {}.", others,
                 folder.string(), an_other.string());
  }
  return files;
}

FileSplit split_by_class(const LabelledFiles& files, double eval_share, std::uint64_t seed) {
  std::vector<std::int64_t> labels;
  for (std::int64_t i = 0; i < files.size(); ++i) labels.push_back(files.label(i));
  const IndexSplit split = stratified_split(labels, eval_share, seed);
  return {files.selection(split.train), files.selection(split.eval)};
}

}  // namespace runner
