#include "components/support/weights/weight_index.hpp"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "components/support/io/read_json.hpp"
#include "registry/wording.hpp"

namespace runner {

std::map<std::string, std::vector<std::string>> read_weight_index(const std::filesystem::path& path) {
  const auto fail = [&](const std::string& why) {
    throw std::runtime_error("Cannot read " + escaped_name(path.string()) + ": " + why + ".");
  };
  const nlohmann::json json = read_json_file(path);
  const auto map = json.is_object() ? json.find("weight_map") : json.end();
  if (!json.is_object() || map == json.end() || !map->is_object() || map->empty())
    fail("it has no \"weight_map\", which says what file each weight is in");
  std::map<std::string, std::vector<std::string>> names;
  for (const auto& [name, file] : map->items()) {
    const std::string text = file.is_string() ? file.get<std::string>() : "";
    if (text.empty() || text == "." || text == ".." || text.find('/') != std::string::npos)
      fail(in_quotes(name) + " is not in a file beside it");
    names[text].push_back(name);
  }
  return names;
}

}  // namespace runner
