#include "components/weights/weight_index.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "registry/base/wording.hpp"
#include "registry/files/read_json.hpp"

namespace runner {

namespace {

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& why) {
  throw std::runtime_error("Cannot read " + escaped_name(path.string()) + ": " + why + ".");
}

}  // namespace

std::map<std::string, std::vector<std::string>> read_weight_index(const std::filesystem::path& path) {
  const nlohmann::json json = read_json_file(path);
  const auto map = json.is_object() ? json.find("weight_map") : json.end();
  if (!json.is_object() || map == json.end() || !map->is_object() || map->empty())
    fail(path, "it has no \"weight_map\", which says what file each weight is in");
  std::map<std::string, std::vector<std::string>> names;
  for (const auto& [name, file] : map->items()) {
    const std::string text = file.is_string() ? file.get<std::string>() : "";
    if (text.empty() || text == "." || text == ".." || text.find('/') != std::string::npos)
      fail(path, in_quotes(name) + " is not in a file beside it");
    names[text].push_back(name);
  }
  return names;
}

void require_indexed(const std::filesystem::path& index, const std::filesystem::path& file,
                     const std::vector<std::string>& names,
                     const std::map<std::string, torch::Tensor>& tensors) {
  const std::string index_name = escaped_name(index.filename().string());
  for (const std::string& name : names) {
    if (!tensors.contains(name))
      fail(file, "it has no tensor " + in_quotes(name) + ", which " + index_name + " says it has");
  }
  for (const auto& [name, tensor] : tensors) {
    if (!std::ranges::binary_search(names, name))
      fail(file, "it has a tensor " + in_quotes(name) + ", which " + index_name + " does not name");
  }
}

}  // namespace runner
