#include "runner/checkpoint/manifest.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <system_error>
#include <type_traits>

#include "components/weights/weight_index.hpp"
#include "registry/base/log.hpp"
#include "registry/base/wording.hpp"
#include "registry/files/folders.hpp"
#include "registry/files/io_error.hpp"
#include "registry/files/read_json.hpp"
#include "registry/files/sha256.hpp"
#include "runner/engine/world.hpp"

namespace runner {

namespace fs = std::filesystem;

namespace {

using Json = nlohmann::json;

constexpr auto fast = "xxh3_of_pieces";  // the checksum to compare, if the entry has it

[[noreturn]] void fail_to_examine(const fs::path& path, const std::error_code& problem) {
  throw IoError("Cannot examine " + escaped_name(path.string()) + ": " + problem.message() + ".");
}

// A file that cannot be examined, because the disk fails for example, is not missing: throws IoError.
fs::file_type type_of(const fs::path& path) {
  std::error_code problem;
  const fs::file_type type = fs::status(path, problem).type();
  if (type == fs::file_type::none) fail_to_examine(path, problem);
  return type;
}

bool is_file(const fs::path& path) { return type_of(path) == fs::file_type::regular; }

std::uint64_t size_of(const fs::path& path) {
  std::error_code problem;
  const std::uint64_t size = fs::file_size(path, problem);
  if (problem) fail_to_examine(path, problem);
  return size;
}

// Checks the types of all entries, so that reading them later cannot fail.
void require_types(const Json& manifest, const fs::path& path) {
  const auto require = [&](bool right, const std::string& what) {
    if (!right)
      throw std::runtime_error(path.string() + " is damaged: " + in_quotes(what) + " is missing or wrong.");
  };
  const auto member = [](const Json& object, const char* name) {
    const auto found = object.find(name);
    return found == object.end() ? Json() : *found;
  };
  const auto is_count = [](const Json& number, std::int64_t least) {
    return number.is_number_integer() && number >= least &&
           number <= std::numeric_limits<std::int64_t>::max();
  };
  require(member(manifest, "format").is_number_integer(), "format");
  require(is_count(member(manifest, "step"), 0), "step");
  require(is_count(member(manifest, "ranks"), 1), "ranks");
  for (const char* name : {"epoch", "seconds"}) require(member(manifest, name).is_number(), name);
  require(member(manifest, "created").is_string(), "created");
  require(member(manifest, "files").is_object(), "files");
  for (const auto& [name, file] : manifest["files"].items())
    require(file.is_object() && member(file, "size").is_number_unsigned() &&
                member(file, "sha256").is_string() && (!file.contains(fast) || file[fast].is_string()),
            "files");
}

using NamedFile = std::pair<std::string, Json>;

// Assigns the largest files first, each to the part with the fewest bytes so far. Sorted by name.
std::vector<NamedFile> files_of(const Json& manifest, const ShareOfFiles& share) {
  std::vector<NamedFile> files;
  for (const auto& [name, file] : manifest.at("files").items()) files.emplace_back(name, file);
  const auto size = [](const NamedFile& file) { return file.second.at("size").get<std::uint64_t>(); };
  std::ranges::stable_sort(files, std::greater(), size);
  std::vector<double> bytes(static_cast<std::size_t>(share.parts));
  std::vector<NamedFile> own;
  for (const NamedFile& file : files) {
    const auto least = std::ranges::min_element(bytes);
    *least += static_cast<double>(size(file));
    if (least - bytes.begin() == share.part) own.push_back(file);
  }
  std::ranges::sort(own, std::less(), &NamedFile::first);
  return own;
}

bool is_of(std::string_view kind, std::string_view state) {
  return state.starts_with(kind) && (state.size() == kind.size() || state[kind.size()] == '.');
}

// The manifest has no checksum of its own: records are cut at the step it names, so this is compared.
bool has_step_of(const Json& states, const Json& manifest) {
  const Json::json_pointer step("/progress/integers/step");
  return !states.contains(step) || states.at(step) == manifest.at("step");
}

// A file that is not listed is not verified, so all files with state of the run must be listed.
std::string unlisted_file(const fs::path& folder, const Json& manifest, const Json& states) {
  if (!is_listed(manifest, "state.safetensors")) return "state.safetensors";
  for (const auto& [state, content] : states.items()) {
    const std::string whole = state + ".safetensors", index = whole + ".index.json";
    if ((is_model(state) || is_optimizer(state)) && !is_listed(manifest, whole) &&
        !is_listed(manifest, index))
      return whole;
    if (!is_listed(manifest, index)) continue;
    for (const auto& [file, tensors] : read_weight_index(folder / index))
      if (!is_listed(manifest, file)) return file;
  }
  return "";
}

std::map<std::string, double> metrics_of(const Json& manifest) {
  std::map<std::string, double> metrics;
  const auto found = manifest.find("metrics");
  if (found == manifest.end() || !found->is_object()) return metrics;
  for (const auto& [name, value] : found->items()) {
    if (value.is_number()) metrics[name] = value.get<double>();
  }
  return metrics;
}

bool kept(const Json& manifest) {
  const auto found = manifest.find("kept");
  return found != manifest.end() && *found == true;
}

std::map<std::string, std::string> versions_of(const Json& manifest) {
  std::map<std::string, std::string> versions;
  const auto found = manifest.find("versions");
  if (found == manifest.end() || !found->is_object()) return versions;
  for (const auto& [name, version] : found->items())
    versions[name] = version.is_string() ? version.get<std::string>() : version.dump();
  return versions;
}

}  // namespace

bool is_about_checkpoint(const std::exception& error) {
  const auto is = [&]<class Failure>(std::type_identity<Failure>) {
    return dynamic_cast<const Failure*>(&error) != nullptr;
  };
  return is(std::type_identity<std::runtime_error>()) && !is(std::type_identity<IoError>()) &&
         !is(std::type_identity<RankError>()) && !is(std::type_identity<std::system_error>()) &&
         !is(std::type_identity<OtherFormat>());
}

bool is_listed(const Json& manifest, const std::string& file) { return manifest.at("files").contains(file); }
bool is_model(std::string_view state) { return is_of("model", state); }
bool is_optimizer(std::string_view state) { return is_of("optimizer", state); }

Json to_json(const WrittenFile& file) {
  return {{"size", file.size}, {"sha256", file.sha256}, {fast, file.xxh3_of_pieces}};
}

WrittenFile written_file_from(const Json& entry) {
  return {entry.value("size", std::uint64_t{0}), entry.value("sha256", ""), entry.value(fast, "")};
}

Json read_json_object(const fs::path& path) {
  Json json = read_json_file(path);
  if (!json.is_object()) throw std::runtime_error(path.string() + " is damaged: it is not a JSON object.");
  return json;
}

bool is_inside(const fs::path& name) {
  return !name.empty() && name.is_relative() && std::ranges::none_of(name, [](const fs::path& part) {
    return part == ".." || part == "." || part.empty();
  });
}

Json read_manifest(const fs::path& folder) {
  const fs::path path = folder / "manifest.json";
  if (!is_file(path)) {
    const fs::path latest = folder / "checkpoints/latest";
    std::error_code ignored;
    throw std::runtime_error(folder.string() + " is not a complete checkpoint: manifest.json is missing." +
                             (fs::exists(latest, ignored)
                                  ? " It is a run folder, whose newest checkpoint is " + latest.string() + "."
                                  : ""));
  }
  Json manifest = read_json_object(path);
  if (const auto format = manifest.find("format");
      format != manifest.end() && format->is_number_integer() && *format != manifest_format)
    throw OtherFormat(
        log::format("{} was written by another version of the runner: its format is {}, and this version "
                    "reads format {}.",
                    path.string(), format->dump(), manifest_format));
  require_types(manifest, path);
  return manifest;
}

std::string damage_of(const fs::path& folder, const Json& manifest, const ShareOfFiles& share) {
  for (const auto& [name, expected] : files_of(manifest, share)) {
    const fs::path path = folder / name;
    if (!is_inside(name)) return "manifest.json names a file outside the checkpoint";
    if (!is_file(path)) return escaped_name(name) + " is missing";
    const std::uint64_t size = size_of(path);
    if (size != expected.at("size").get<std::uint64_t>())
      return escaped_name(name) + " has " + std::to_string(size) + " bytes instead of " +
             expected.at("size").dump();
    const WrittenFile written = written_file_from(expected);
    const bool same = written.xxh3_of_pieces.empty() ? sha256_of_file(path) == written.sha256
                                                     : xxh3_of_pieces(path) == written.xxh3_of_pieces;
    if (!same) return escaped_name(name) + " has the wrong checksum: its contents have changed";
  }
  if (share.part != 0) return "";
  try {
    if (!is_listed(manifest, "state.json")) return "manifest.json does not list state.json";
    const Json states = read_json_object(folder / "state.json");
    if (!has_step_of(states, manifest)) return "manifest.json and state.json are of different steps";
    const std::string unlisted = unlisted_file(folder, manifest, states);
    return unlisted.empty() ? "" : "manifest.json does not list " + escaped_name(unlisted);
  } catch (const std::runtime_error&) {
    return "";  // the rank that compares an unreadable file reports it, which may be another rank
  }
}

CheckpointSummary summary_of(const Json& manifest, const fs::path& folder) {
  CheckpointSummary summary;
  summary.folder = folder;
  summary.step = manifest["step"];
  summary.epoch = manifest["epoch"];
  summary.seconds = manifest["seconds"];
  summary.ranks = manifest["ranks"];
  summary.created = manifest["created"];
  summary.kept = kept(manifest);
  summary.metrics = metrics_of(manifest);
  summary.versions = versions_of(manifest);
  std::uint64_t bytes = 0;  // unsigned: wrong sizes in a manifest must not overflow
  for (const auto& [name, file] : manifest["files"].items()) bytes += file["size"].get<std::uint64_t>();
  summary.bytes = static_cast<std::int64_t>(bytes);
  return summary;
}

CheckpointSummary read_summary(const fs::path& folder) { return summary_of(read_manifest(folder), folder); }

std::string damage_of(const fs::path& folder) {
  if (type_of(folder) == fs::file_type::directory && !is_file(folder / "manifest.json"))
    return "manifest.json is missing";
  try {
    return damage_of(folder, read_manifest(folder));
  } catch (const std::exception& error) {
    if (!is_about_checkpoint(error)) throw;
    return error.what();
  }
}

bool is_intact(const fs::path& folder) {
  const std::string damage = damage_of(folder);
  if (!damage.empty() && !is_missing(folder))  // a run that is training may have deleted it meanwhile
    log::warning("The checkpoint {} is damaged: {}. Skipping it.", folder.string(), damage);
  return damage.empty();
}

}  // namespace runner
