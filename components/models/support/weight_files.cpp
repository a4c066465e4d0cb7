#include "components/models/support/weight_files.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "components/support/io/private_mapping.hpp"
#include "components/support/io/read_json.hpp"
#include "components/support/weights/safetensors.hpp"
#include "components/support/weights/torch_file.hpp"
#include "registry/wording.hpp"

namespace runner {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& path, const std::string& why) {
  throw std::runtime_error("Cannot read " + escaped_name(path.string()) + ": " + why + ".");
}

WeightFiles read_one(const fs::path& path) {
  const auto file = PrivateMapping::open(path);
  if (looks_like_torch_file(file->bytes())) {
    TorchFile read = read_torch_file(path);
    const std::string where = read.found_in.empty() ? "" : ", key " + in_quotes(read.found_in);
    return {"torch.save (" + read.layout + where + ")", std::move(read.tensors), std::move(read.others)};
  }
  if (looks_like_safetensors(file->bytes())) return {"safetensors", read_safetensors(path)};
  fail(path, std::string("it is neither a safetensors file nor one written by Python's torch.save") +
                 (file->bytes().empty() ? "; it is empty" : ""));
}

using NamesOfFiles = std::map<std::string, std::vector<std::string>>;

// {"weight_map": {"model.norm.weight": "model-00002-of-00002.safetensors", ..}}
NamesOfFiles read_index(const fs::path& path) {
  const nlohmann::json json = read_json_file(path);
  const auto map = json.is_object() ? json.find("weight_map") : json.end();
  if (map == json.end() || !map->is_object() || map->empty())
    fail(path, "it has no weight_map, which says what file each weight is in");
  NamesOfFiles names;
  for (const auto& [name, file] : map->items()) {
    if (!file.is_string()) fail(path, "the file of " + in_quotes(name) + " is not a name");
    const auto text = file.get<std::string>();
    // Beside the index, and nowhere else.
    if (text.empty() || text == ".." || text.find('/') != std::string::npos)
      fail(path, in_quotes(text) + " is not the name of a file beside it");
    names[text].push_back(name);
  }
  return names;
}

WeightFiles read_shards(const fs::path& index) {
  WeightFiles all;
  const NamesOfFiles files = read_index(index);
  for (const auto& [file, names] : files) {
    const fs::path path = index.parent_path() / file;
    WeightFiles part = read_one(path);
    for (const std::string& name : names) {
      const auto found = part.tensors.find(name);
      if (found == part.tensors.end())
        fail(path,
             "it has no tensor " + in_quotes(name) + ", which " + index.filename().string() + " says it has");
      all.tensors.insert_or_assign(name, found->second);
      part.tensors.erase(found);
    }
    if (!part.tensors.empty()) {
      fail(path, "it has a tensor " + in_quotes(part.tensors.begin()->first) + ", which " +
                     index.filename().string() + " does not name");
    }
    all.format = part.format;
  }
  all.format += " in " + std::to_string(files.size()) + " files";
  return all;
}

}  // namespace

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
