// Images in a folder for each class, or in folders of such folders.
#include <algorithm>
#include <set>

#include "components/contract/data_error.hpp"
#include "components/datasets/read/image_file.hpp"
#include "components/datasets/read/labelled_files.hpp"
#include "registry/base/ascii.hpp"
#include "runner/cli/starters/own_data.hpp"

namespace runner::cli {

namespace fs = std::filesystem;

namespace {

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

// Images beside their masks are no two classes.
bool are_images_and_masks(const std::vector<fs::path>& folders) {
  const auto one_of = [&](std::initializer_list<std::string_view> names) {
    return std::ranges::any_of(folders, [&](const fs::path& folder) {
      return std::ranges::find(names, ascii_lower(folder.filename().string())) != names.end();
    });
  };
  if (one_of({"mask", "masks", "segmentation", "segmentations", "annotation", "annotations", "labels"}) &&
      one_of({"image", "images", "img", "imgs", "photos", "jpegimages", "inputs"}))
    return true;
  if (folders.size() != 2) return false;
  std::set<std::string> stems;
  std::size_t same = 0;
  for (const fs::path& file : entries(folders[0], /*folders=*/false)) stems.insert(file.stem().string());
  for (const fs::path& file : entries(folders[1], /*folders=*/false))
    same += stems.contains(file.stem().string());
  const auto is_mask = [](const fs::path& folder) {
    return ascii_lower(folder.filename().string()).find("mask") != std::string::npos;
  };
  return 2 * same > stems.size() && std::ranges::any_of(folders, is_mask);
}

}  // namespace

Found start_from_images(const fs::path& data) {
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
  } else if (const auto folders = entries(data, /*folders=*/true); are_images_and_masks(folders)) {
    return Problem{data.string() + " has images and their masks, which are not two classes",
                   {"to segment images, save both as tensors, inputs (N, channels, height, width) and "
                    "classes (N, height, width): runner "
                    "new --dataset tensors --model unet"}};
  } else if (!are_classes(folders)) {
    return Problem{"the images in " + data.string() + " are not in classes",
                   {"put those of each class into a folder of its own"}};
  } else {
    start.overrides.emplace_back("dataset.split=0.2");
  }
  const std::string side = std::to_string(side_for(images));
  start.overrides.push_back("dataset.transform.0.height=" + side);
  start.overrides.push_back("dataset.transform.0.width=" + side);
  choose_length(std::ssize(images), 300, 64, 10, start);
  if (side == "32") start.overrides.emplace_back("model.stem=cifar");
  return start;
}

}  // namespace runner::cli
