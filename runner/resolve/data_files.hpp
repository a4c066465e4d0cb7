#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "registry/registry.hpp"
#include "registry/value.hpp"

namespace runner {

// The contents of a data file or folder when a run started. Its path and modification times do not matter.
struct DataFile {
  std::uint64_t size = 0;  // of a folder: the number of its files
  std::string sha256;      // of the whole file; of a large one, of blocks spread over it
  bool folder = false;

  bool operator==(const DataFile&) const = default;
};

DataFile read_data_file(const std::filesystem::path& file);  // throws IoError
// Covers the names of all files in it and the sizes of up to 20,000, without hidden files and run folders.
// Throws IoError, also for a folder of more than 200,000 files.
DataFile read_data_folder(const std::filesystem::path& folder);

// The files and folders that the settings of the dataset name, by key: "dataset.train". Those that cannot be
// read are left out: the dataset reports them itself.
using DataFiles = std::map<std::string, DataFile>;
DataFiles data_files(const Value& resolved, const Registry& registry);

// As a checkpoint keeps them, in data.json.
std::string to_json(const DataFiles& files);
DataFiles read_data_files(const std::filesystem::path& json);  // none if it is missing or damaged

}  // namespace runner
