#include "components/weights/sharded_safetensors.hpp"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "components/weights/weight_index.hpp"
#include "registry/base/wording.hpp"
#include "registry/files/atomic_file.hpp"

namespace runner {

namespace fs = std::filesystem;

namespace {

using Tensors = std::vector<std::pair<std::string, torch::Tensor>>;

std::vector<Tensors> cut(const Tensors& tensors, std::int64_t most) {
  std::vector<Tensors> shards(1);
  std::int64_t bytes = 0;
  for (const auto& item : tensors) {
    const auto size = static_cast<std::int64_t>(item.second.nbytes());
    if (bytes > 0 && bytes + size > most) {
      shards.emplace_back();
      bytes = 0;
    }
    bytes += size;
    shards.back().push_back(item);
  }
  return shards;
}

}  // namespace

std::string shard_name(const std::string& stem, std::size_t number, std::size_t count) {
  char text[64];
  std::snprintf(text, sizeof text, "-%05zu-of-%05zu.safetensors", number, count);
  return stem + text;
}

std::vector<std::pair<std::string, WrittenFile>> write_sharded_safetensors(const fs::path& folder,
                                                                           const std::string& stem,
                                                                           const Tensors& tensors,
                                                                           std::int64_t most) {
  const Metadata metadata{{"format", "pt"}};
  const std::vector<Tensors> shards = cut(tensors, most);
  if (shards.size() == 1) {
    const std::string name = stem + ".safetensors";
    return {{name, write_safetensors(folder / name, tensors, metadata)}};
  }
  std::vector<std::pair<std::string, WrittenFile>> files;
  nlohmann::json weight_map;  // not as an ordered_json, which searches all its keys for each new one
  std::int64_t total = 0;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const std::string name = shard_name(stem, i + 1, shards.size());
    files.emplace_back(name, write_safetensors(folder / name, shards[i], metadata));
    for (const auto& [tensor_name, tensor] : shards[i]) {
      weight_map[tensor_name] = name;
      total += static_cast<std::int64_t>(tensor.nbytes());
    }
  }
  const nlohmann::json index{{"metadata", {{"total_size", total}}}, {"weight_map", std::move(weight_map)}};
  const std::string name = stem + ".safetensors.index.json", text = index.dump(2) + "\n";
  AtomicFile file(folder / name);
  file.write(text);
  file.commit();
  files.emplace_back(name, written_file(text));
  return files;
}

fs::path find_safetensors(const fs::path& folder, const std::string& stem, const MayBeRead& may_be_read) {
  for (const char* ending : {".safetensors.index.json", ".safetensors"})
    if (may_be_read(stem + ending)) return folder / (stem + ending);
  throw std::runtime_error(folder.string() + " has no " + escaped_name(stem) + ".safetensors.");
}

std::map<std::string, torch::Tensor> read_sharded_safetensors(const fs::path& folder, const std::string& stem,
                                                              const MayBeRead& may_be_read) {
  const fs::path path = find_safetensors(folder, stem, may_be_read);
  if (path.extension() == ".safetensors") return read_safetensors(path);
  std::map<std::string, torch::Tensor> all;
  for (const auto& [file, names] : read_weight_index(path)) {
    if (!may_be_read(file))
      throw std::runtime_error(escaped_name(path.string()) +
                               " names a file that may not be read: " + escaped_name(file) + ".");
    auto tensors = read_safetensors(folder / file);
    require_indexed(path, folder / file, names, tensors);
    all.merge(std::move(tensors));
  }
  return all;
}

}  // namespace runner
