#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "components/datasets/read/published_files.hpp"

namespace runner {

// The binary files of CIFAR-10 and CIFAR-100: records of one or two label bytes and three planes of 32 x 32
// pixels.
struct CifarFormat {
  PublishedFiles published;  // the training files first, the validation file last
  std::size_t label_bytes = 1;
  std::size_t label_position = 0;
  DataSpec spec;
  std::string stand_in_example;  // a value of dataset.fallback that fits, for messages
};

struct CifarSource {
  std::filesystem::path dir;
  bool download = true;
  std::optional<Part<DatasetKind>> fallback;
};

std::unique_ptr<Dataset> make_cifar(CifarFormat format, const CifarSource& source,
                                    const DatasetInputs& inputs);

}  // namespace runner
