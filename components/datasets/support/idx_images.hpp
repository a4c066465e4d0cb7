#pragma once

#include <filesystem>

#include "components/datasets/dataset.hpp"

namespace runner {

// The four files of a set in the MNIST family.
struct IdxPaths {
  std::filesystem::path train_images, train_labels, eval_images, eval_labels;
};

// `name`, with or without .gz and with the dot that some copies have in place of the second-last dash; empty
// if none.
std::filesystem::path find_idx_file(const std::filesystem::path& dir, const std::string& name);

// {1, height, width}, from the header of the images. Throws DataError.
std::vector<std::int64_t> idx_image_shape(const std::filesystem::path& images);

// Opens all four, compared with each other and with the spec. Throws DataError.
Splits open_idx(const IdxPaths& paths, const DataSpec& spec, const TransformPipeline& transforms);

}  // namespace runner
