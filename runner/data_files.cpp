#include "runner/data_files.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "components/support/io/open_file.hpp"
#include "components/support/io/read_json.hpp"
#include "components/support/io/sha256.hpp"
#include "registry/divide_up.hpp"
#include "runner/plugins/recipe_walk.hpp"
#include "runner/resolve.hpp"

namespace runner {

namespace fs = std::filesystem;

namespace {

// A file of up to 32 MiB is read whole; of a larger one, as much.
constexpr std::size_t block = std::size_t{64} << 10, most_blocks = 512;

}  // namespace

DataFile read_data_file(const fs::path& path) {
  const OpenFile file(path);
  const std::size_t blocks = std::min(most_blocks, divide_up(file.size(), block));
  Sha256 digest;
  std::vector<std::uint8_t> bytes;
  for (std::size_t i = 0; i < blocks; ++i) {
    const bool whole = file.size() <= block * most_blocks;
    // The first block starts the file, and the last one ends it.
    const std::size_t start =
        whole ? i * block
              : static_cast<std::size_t>(static_cast<double>(file.size() - block) *
                                         (static_cast<double>(i) / static_cast<double>(blocks - 1)));
    bytes.resize(std::min(block, file.size() - start));
    file.read_at(start, bytes);
    digest.update(bytes);
  }
  return {file.size(), digest.hex()};
}

DataFiles data_files(const Value& resolved, const Registry& registry) {
  DataFiles found;
  RecipeVisitor visitor;
  visitor.setting = [&](const Value& value, const FieldInfo& field, const std::string& key) {
    const TypeInfo& type = field.type.element ? *field.type.element : field.type;
    const auto* path = value.as<std::string>();
    std::error_code unreadable;
    if (!key.starts_with("dataset.") || type.kind != TypeInfo::Kind::path || !path ||
        !fs::is_regular_file(*path, unreadable))
      return;
    try {
      found[key] = read_data_file(*path);
    } catch (const IoError&) {
      // The dataset says what is wrong with it, if it needs it.
    }
  };
  Value walked = resolved;
  walk_recipe(walked, recipe_schema(), registry, visitor);
  return found;
}

std::string to_json(const DataFiles& files) {
  nlohmann::json json = nlohmann::json::object();
  for (const auto& [key, file] : files) json[key] = {{"size", file.size}, {"sha256", file.sha256}};
  return json.dump(1) + "\n";
}

DataFiles read_data_files(const fs::path& path) {
  DataFiles files;
  const nlohmann::json json = read_json_file_or_null(path);
  if (!json.is_object()) return files;
  for (const auto& [key, file] : json.items()) {
    if (!file.is_object() || !file.contains("size") || !file["size"].is_number_unsigned() ||
        !file.contains("sha256") || !file["sha256"].is_string())
      continue;
    files[key] = {file["size"].get<std::uint64_t>(), file["sha256"].get<std::string>()};
  }
  return files;
}

}  // namespace runner
