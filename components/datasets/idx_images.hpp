#pragma once

#include <filesystem>

#include "components/datasets/dataset.hpp"

namespace runner {

// The four files of a dataset of the MNIST family.
struct IdxPaths {
  std::filesystem::path train_images, train_labels, eval_images, eval_labels;
};

// Finds `name`, with or without .gz. Some copies have a dot before "idx": train-images.idx3-ubyte. Returns an
// empty path if there is none.
std::filesystem::path find_idx_file(const std::filesystem::path& dir, const std::string& name);

// {1, height, width}, from the header of the images. Throws DataError.
std::vector<std::int64_t> idx_image_shape(const std::filesystem::path& images);

// Opens all four. Throws DataError, also if they do not fit each other or the spec.
Splits open_idx(const IdxPaths& paths, const DataSpec& spec, const TransformPipeline& transforms);

}  // namespace runner
