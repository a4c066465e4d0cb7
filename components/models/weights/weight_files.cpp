#include "components/models/weights/weight_files.hpp"

#include <array>
#include <stdexcept>

#include "components/weights/safetensors.hpp"
#include "components/weights/torch_file.hpp"
#include "components/weights/weight_index.hpp"
#include "components/weights/weights_checksum.hpp"
#include "registry/base/wording.hpp"

namespace runner {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& path, const std::string& why) {
  throw std::runtime_error("Cannot read " + escaped_name(path.string()) + ": " + why + ".");
}

WeightFiles read_one(const fs::path& path) {
  const auto file = PrivateMapping::open(path, PrivateMapping::Access::read_only);
  if (looks_like_torch_file(file->bytes())) {
    TorchFile read = read_torch_file(file);
    const std::string where = read.found_in.empty() ? "" : ", key " + in_quotes(read.found_in);
    return {
        "torch.save (" + read.layout + where + ")", std::move(read.tensors), std::move(read.others), {file}};
  }
  if (looks_like_safetensors(file->bytes())) {
    require_intact_weights(file);
    return {"safetensors", read_safetensors(file), {}, {file}};
  }
  fail(path, std::string("it is neither a safetensors file nor one written by Python's torch.save") +
                 (file->bytes().empty() ? "; it is empty" : ""));
}

WeightFiles read_shards(const fs::path& index) {
  WeightFiles all;
  const auto files = read_weight_index(index);
  for (const auto& [file, names] : files) {
    const fs::path path = index.parent_path() / file;
    WeightFiles part = read_one(path);
    require_indexed(index, path, names, part.tensors);
    all.tensors.merge(part.tensors);
    all.format = part.format;
    all.files.insert(all.files.end(), part.files.begin(), part.files.end());
  }
  all.format += " in " + std::to_string(files.size()) + " files";
  return all;
}

// The tensor's whole storage: a view may be any part of it.
std::span<const std::byte> bytes_under(const torch::Tensor& tensor) {
  const c10::Storage& storage = tensor.storage();
  return {static_cast<const std::byte*>(storage.data()), storage.nbytes()};
}

}  // namespace

void WeightFiles::will_need(const torch::Tensor& tensor) const {
  for (const auto& file : files) file->will_need(bytes_under(tensor));
}

void WeightFiles::give_back(const torch::Tensor& tensor) const {
  for (const auto& file : files) file->give_back(bytes_under(tensor));
}

WeightFiles read_weight_files(const fs::path& path) {
  if (path.filename().string().ends_with(".index.json")) return read_shards(path);
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return read_one(path);
  constexpr std::array<const char*, 4> usual{"model.safetensors", "model.safetensors.index.json",
                                             "pytorch_model.bin", "pytorch_model.bin.index.json"};
  for (const char* name : usual) {
    if (!fs::exists(path / name, ignored)) continue;
    return std::string_view(name).ends_with(".json") ? read_shards(path / name) : read_one(path / name);
  }
  fail(path,
       "the folder holds none of model.safetensors, model.safetensors.index.json, pytorch_model.bin and "
       "pytorch_model.bin.index.json, as HuggingFace's save_pretrained writes them");
}

}  // namespace runner
