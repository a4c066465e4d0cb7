#include "runner/checkpoint/rank_parts.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <thread>

#include "components/weights/sharded_safetensors.hpp"
#include "registry/files/atomic_file.hpp"
#include "registry/files/io_error.hpp"
#include "registry/files/read_json.hpp"
#include "runner/checkpoint/manifest.hpp"
#include "runner/checkpoint/state_json.hpp"
#include "runner/engine/world.hpp"

namespace runner {

namespace fs = std::filesystem;

namespace {

using Json = nlohmann::json;

fs::path note_of(const fs::path& folder, const RankPart& part) {
  return folder / (".note-" + part.file() + ".json");
}

void leave_note(const fs::path& folder, const RankPart& part, const Json& note) {
  AtomicFile file(note_of(folder, part));
  file.write(note.dump(-1, ' ', false, Json::error_handler_t::replace));  // an error may name any path
  file.commit();
}

void join(Json& all, const Json& part) {
  for (const auto& [kind, entries] : part.items()) {
    if (kind == "tensors") {
      for (const Json& name : entries)
        if (!all.contains(kind) || std::ranges::find(all[kind], name) == all[kind].end())
          all[kind].push_back(name);
    } else {
      for (const auto& [name, entry] : entries.items()) {
        if (kind == "parts") {
          join(all[kind][name], entry);
        } else if (!all[kind].contains(name)) {
          all[kind][name] = entry;
        }
      }
    }
  }
}

std::vector<std::string> tensor_names(const Json& state, const std::string& prefix = "") {
  std::vector<std::string> names;
  if (const auto tensors = state.find("tensors"); tensors != state.end())
    for (const Json& name : *tensors) names.push_back(prefix + name.get<std::string>());
  if (const auto parts = state.find("parts"); parts != state.end()) {
    for (const auto& [name, part] : parts->items())
      for (std::string& inner : tensor_names(part, prefix + name + "/")) names.push_back(std::move(inner));
  }
  return names;
}

}  // namespace

std::string RankPart::file() const {
  return shard_name(name, static_cast<std::size_t>(rank) + 1, static_cast<std::size_t>(ranks));
}

void write_part(const fs::path& folder, const RankPart& part, const State& own) {
  try {
    Json note{{"layout", to_json(own)}};
    if (const TensorList tensors = tensors_of(own); !tensors.empty())
      note["file"] = to_json(write_safetensors(folder / part.file(), tensors, {{"format", "pt"}}));
    leave_note(folder, part, note);
  } catch (const std::exception& error) {
    try {
      leave_note(folder, part, {{"error", error.what()}});
    } catch (const std::exception&) {
      // The run ends on this rank, and with it on all others.
    }
    throw;
  }
}

WrittenPart wait_for_part(const fs::path& folder, const RankPart& part, const WaitOptions& wait) {
  const fs::path path = note_of(folder, part);
  const auto deadline = std::chrono::steady_clock::now() + wait.timeout;
  const std::string who = "rank " + std::to_string(part.rank);
  for (std::chrono::milliseconds pause{1}; !fs::exists(path); std::this_thread::sleep_for(pause)) {
    const auto trouble = wait.trouble_with ? wait.trouble_with(part.rank) : std::nullopt;
    if (trouble && !fs::exists(path))  // it may have written its part before
      throw RankError("The checkpoint is not complete: " + *trouble + ".");
    if (wait.cancelled && *wait.cancelled)
      throw IoError("The run has ended before " + who + " had written " + part.file() + ".");
    if (std::chrono::steady_clock::now() > deadline)
      throw IoError("The checkpoint is not complete: " + who + " has not written " +
                    (folder / part.file()).string() +
                    " in time. All ranks need the run folder on a disk that they share.");
    pause = std::min(2 * pause, std::chrono::milliseconds(100));
  }
  const Json note = read_json_file(path);
  if (note.contains("error"))
    throw IoError("Rank " + std::to_string(part.rank) +
                  " could not write its part of a checkpoint: " + note.value("error", ""));
  std::error_code ignored;
  fs::remove(path, ignored);
  WrittenPart written{note.at("layout"), {}};
  if (note.contains("file")) written.file = written_file_from(note["file"]);
  return written;
}

Json joined(const std::vector<Json>& parts) {
  Json all = Json::object();
  for (const Json& part : parts) join(all, part);
  return all;
}

std::optional<std::string> index_of(const std::string& name, const std::vector<Json>& parts) {
  nlohmann::ordered_json index{{"metadata", nlohmann::ordered_json::object()},
                               {"weight_map", nlohmann::ordered_json::object()}};
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    const RankPart part{name, static_cast<int>(rank), static_cast<int>(parts.size())};
    for (const std::string& tensor : tensor_names(parts[rank]))
      if (!index["weight_map"].contains(tensor)) index["weight_map"][tensor] = part.file();
  }
  if (index["weight_map"].empty()) return std::nullopt;
  return index.dump(2) + "\n";
}

}  // namespace runner
