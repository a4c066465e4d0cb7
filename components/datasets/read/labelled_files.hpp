#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace runner {

// Paths in one folder, each with a label. All names are in one string, so that millions take little memory.
class LabelledFiles {
 public:
  explicit LabelledFiles(std::filesystem::path folder) : folder_(std::move(folder)) {}

  void add(const std::string& path_below_folder, std::int64_t label);
  std::int64_t size() const { return static_cast<std::int64_t>(labels_.size()); }
  std::filesystem::path path(std::int64_t index) const;
  std::int64_t label(std::int64_t index) const { return labels_[static_cast<std::size_t>(index)]; }
  LabelledFiles selection(std::span<const std::int64_t> indices) const;

 private:
  std::string_view name(std::int64_t index) const;

  std::filesystem::path folder_;
  std::string names_;
  std::vector<std::size_t> ends_;  // of each name in names_
  std::vector<std::int32_t> labels_;
};

// The subfolders, sorted: the classes. Throws DataError if there are none.
std::vector<std::string> class_folders(const std::filesystem::path& folder);

// The folders of a dataset that is split already, by their usual names in any case: train or training; val,
// valid, validation, eval or test.
enum class SplitPart { train, eval };
bool is_usual_name(SplitPart part, const std::string& folder);
// The subfolders with such a name, the most usual first. They hold the folders of the classes: one that does
// not is a class itself, of photographs of trains.
std::vector<std::string> split_folders(const std::filesystem::path& dir, SplitPart part);

// The JPEG and PNG files of all classes, each class sorted by path. Throws DataError if a class has none.
LabelledFiles list_images(const std::filesystem::path& folder, const std::vector<std::string>& classes);

struct FileSplit {
  LabelledFiles train, eval;
};
// Takes the same share of every class for evaluation, at random by the seed.
FileSplit split_by_class(const LabelledFiles& files, double eval_share, std::uint64_t seed);

}  // namespace runner
