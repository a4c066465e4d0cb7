#include "runner/resolve/data_files.hpp"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

#include "registry/base/arithmetic.hpp"
#include "registry/files/folders.hpp"
#include "registry/files/open_file.hpp"
#include "registry/files/read_json.hpp"
#include "registry/files/sha256.hpp"
#include "registry/files/written_file.hpp"
#include "runner/recipe/recipe.hpp"
#include "runner/recipe/recipe_walk.hpp"

namespace runner {

namespace fs = std::filesystem;

namespace {

// Files of up to 32 MiB are read whole; of larger ones, 32 MiB are read, spread over the file.
constexpr std::size_t block = std::size_t{64} << 10, most_blocks = 512;

// Folders with more files are not compared: the start of a run must not wait until a disk full of datasets
// has been searched.
constexpr std::uint64_t most_entries = 200000;
constexpr std::size_t most_sizes = 20000;

void add_text(Sha256& digest, const std::string& text) {
  digest.update({reinterpret_cast<const std::uint8_t*>(text.c_str()), text.size() + 1});
}

// Calls `visit` with every file below the folder, in no particular order. Links to folders are not followed.
void each_file(const fs::path& folder, const std::function<void(const fs::directory_entry&)>& visit) {
  const auto skip = fs::directory_options::skip_permission_denied;
  std::uint64_t entries = 0;
  for (auto entry = fs::recursive_directory_iterator(folder, skip); entry != fs::end(entry); ++entry) {
    if (++entries > most_entries) throw IoError(folder.string() + " holds too many files to be compared.");
    const bool is_folder = entry->is_directory();
    if (is_folder && (is_hidden(entry->path()) || fs::exists(entry->path() / "run.json")))
      entry.disable_recursion_pending();
    if (!is_folder && !is_hidden(entry->path())) visit(*entry);
  }
}

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

DataFile read_data_folder(const fs::path& folder) {
  // Sizes take longer to read than names, so only some are read: those of the files whose names have the
  // smallest hashes, a choice that does not depend on the order of the files.
  std::uint64_t count = 0, sum = 0;
  std::map<std::uint64_t, fs::directory_entry> sized;
  try {
    each_file(folder, [&](const fs::directory_entry& entry) {
      const std::uint64_t hash = xxh3_of(entry.path().lexically_relative(folder).generic_string());
      ++count;
      sum += hash;
      if (sized.size() == most_sizes && hash > sized.rbegin()->first) return;
      sized.emplace(hash, entry);
      if (sized.size() > most_sizes) sized.erase(std::prev(sized.end()));
    });
    Sha256 digest;
    add_text(digest, std::to_string(sum));
    for (const auto& [hash, entry] : sized) {
      std::error_code dangling;  // a link may lead nowhere
      add_text(digest, std::to_string(hash) + " " + std::to_string(entry.file_size(dangling)));
    }
    return {count, digest.hex(), true};
  } catch (const fs::filesystem_error& error) {
    throw IoError("Cannot read the folder " + folder.string() + ": " + error.code().message() + ".");
  }
}

DataFiles data_files(const Value& resolved, const Registry& registry) {
  DataFiles found;
  RecipeVisitor visitor;
  visitor.setting = [&](const Value& value, const FieldInfo& field, const std::string& key) {
    const TypeInfo& type = field.type.element ? *field.type.element : field.type;
    const auto* path = value.as<std::string>();
    std::error_code unreadable;
    if (!key.starts_with("dataset.") || type.kind != TypeInfo::Kind::path || !path ||
        !fs::exists(*path, unreadable))
      return;
    try {
      if (fs::is_directory(*path)) {
        found[key] = read_data_folder(*path);
      } else if (fs::is_regular_file(*path)) {
        found[key] = read_data_file(*path);
      }
    } catch (const IoError&) {
      // If the dataset needs it, the dataset reports the error.
    }
  };
  Value walked = resolved;
  walk_recipe(walked, schema_of<Recipe>(), registry, visitor);
  return found;
}

std::string to_json(const DataFiles& files) {
  nlohmann::json json = nlohmann::json::object();
  for (const auto& [key, file] : files)
    json[key] = {{file.folder ? "files" : "size", file.size}, {"sha256", file.sha256}};
  return json.dump(1) + "\n";
}

DataFiles read_data_files(const fs::path& path) {
  DataFiles files;
  const nlohmann::json json = read_json_file_or_null(path);
  if (!json.is_object()) return files;
  for (const auto& [key, file] : json.items()) {
    const bool folder = file.is_object() && file.contains("files");
    const char* size = folder ? "files" : "size";
    if (!file.is_object() || !file.contains(size) || !file[size].is_number_unsigned() ||
        !file.contains("sha256") || !file["sha256"].is_string())
      continue;
    files[key] = {file[size].get<std::uint64_t>(), file["sha256"].get<std::string>(), folder};
  }
  return files;
}

}  // namespace runner
