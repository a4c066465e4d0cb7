#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "components/datasets/dataset.hpp"

namespace runner {

struct PublishedFile {
  std::string name;
  std::size_t size = 0;
  std::string sha256 = {};  // compared after a download; empty: PublishedFiles::sha256 is compared instead
};

// A dataset as its authors publish it: an archive with a folder of files.
struct PublishedFiles {
  std::string title;  // "CIFAR-10"
  std::string url;
  std::string sha256;  // of the archive; empty: those of the files are compared instead
  std::string folder;  // "cifar-10-batches-bin"
  std::vector<PublishedFile> files;
};

// The data was not found: the only failure for which a stand-in may be used. Files that exist but are wrong
// are a plain DataError.
struct DataMissing : DataError {
  using DataError::DataError;
};

// The folder that holds all the files: `dir`, or the published folder inside it; if `dir` is empty, the one
// in the user's cache folder. If none of the files exists, downloads them to there, provided that `download`
// is true; otherwise throws DataMissing. Several processes may call this at once.
std::filesystem::path find_or_fetch(const PublishedFiles& published, const std::filesystem::path& dir,
                                    bool download);

// Whether find_or_fetch() needs no download.
bool is_complete(const PublishedFiles& published, const std::filesystem::path& dir);

std::filesystem::path cache_folder();  // $XDG_CACHE_HOME/runner, or ~/.cache/runner

}  // namespace runner
