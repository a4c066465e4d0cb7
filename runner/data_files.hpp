#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "registry/registry.hpp"
#include "registry/value.hpp"

namespace runner {

// What a file of data held when a run started. Its place and its time do not matter.
struct DataFile {
  std::uint64_t size = 0;
  std::string sha256;  // of the whole file; of a large one, of blocks spread over it

  bool operator==(const DataFile&) const = default;
};

DataFile read_data_file(const std::filesystem::path& file);  // throws IoError

// The files that the settings of the dataset name, by key: "dataset.train". Folders are not compared, nor are
// files that cannot be read, which the dataset reports itself.
using DataFiles = std::map<std::string, DataFile>;
DataFiles data_files(const Value& resolved, const Registry& registry);

// As a checkpoint keeps them, in data.json.
std::string to_json(const DataFiles& files);
DataFiles read_data_files(const std::filesystem::path& json);  // none where it is missing or damaged

}  // namespace runner
