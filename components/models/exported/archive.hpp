#pragma once

#include <torch/types.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "components/weights/zip_archive.hpp"
#include "registry/files/private_mapping.hpp"

namespace runner::exported {

// Why a file cannot be used. Completes a sentence that begins with the file: "has no program to train".
struct Refusal : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A tensor of the file, as the file describes it. Nothing is allocated for it before it is read.
struct StoredTensor {
  std::string entry;  // two names with the same entry and the same form are one tensor
  torch::Dtype type = torch::kFloat32;
  std::vector<std::int64_t> sizes, strides;
  std::int64_t offset = 0;  // in elements
  bool requires_grad = false;

  bool operator==(const StoredTensor&) const = default;
};

// A file written by torch.export.save or package_pt2: a zip archive of programs (JSON) and tensors (raw
// bytes, uncompressed), mapped into memory. Nothing in it is executed, and its pickles are not read.
class Archive {
 public:
  explicit Archive(const std::filesystem::path& file);  // throws IoError, Refusal

  const std::filesystem::path& file() const { return mapping_->path(); }
  std::vector<std::string> programs() const;
  std::string_view program(const std::string& name) const;  // its JSON

  // The tensors of a program by their names in Python: parameters, buffers, constants. Each is within the
  // file.
  std::map<std::string, StoredTensor> tensors(const std::string& program) const;

  // A view of the mapped file if the alignment allows, to copy from.
  torch::Tensor view(const StoredTensor& tensor) const;
  void give_back(const StoredTensor& tensor) const;  // its pages are not needed for now

  // For `runner export`: everything in the file, in the order of the names.
  const std::map<std::string, ZipArchive::Entry>& entries() const { return zip_.entries(); }
  std::string name_in_folder(const std::string& path) const { return path.substr(folder_.size()); }

 private:
  std::string_view text(const std::string& entry) const;
  std::span<std::byte> bytes_of(const StoredTensor& tensor) const;

  std::shared_ptr<PrivateMapping> mapping_;
  ZipArchive zip_;
  std::string folder_;  // all names in the archive begin with it: "m/"
};

// The numbers that the format uses for types are not LibTorch's.
torch::Dtype type_of(std::int64_t number);

}  // namespace runner::exported
