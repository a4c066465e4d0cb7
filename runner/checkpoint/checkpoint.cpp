#include "runner/checkpoint/checkpoint.hpp"

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>

#include "components/weights/safetensors.hpp"
#include "components/weights/sharded_safetensors.hpp"
#include "registry/base/utf8.hpp"
#include "registry/base/wording.hpp"
#include "registry/files/atomic_file.hpp"
#include "registry/files/folders.hpp"
#include "registry/files/io_error.hpp"
#include "registry/files/open_file.hpp"
#include "registry/files/read_json.hpp"
#include "runner/checkpoint/state_json.hpp"

namespace runner {

namespace fs = std::filesystem;

namespace {

using Json = nlohmann::json;

std::string time_text() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &local);
  return text;
}

struct FolderContents {
  std::vector<fs::path> files, folders;  // relative to the folder
};

FolderContents contents_of(const fs::path& hook_files) {
  FolderContents found;
  try {
    for (const auto& entry : fs::recursive_directory_iterator(hook_files)) {
      const fs::path name = entry.path().lexically_relative(hook_files);
      if (entry.is_symlink() || (!entry.is_directory() && !entry.is_regular_file()))
        throw IoError("A hook left " + name.string() + " for a checkpoint, which is not a file.");
      if (!is_utf8(name.string()))  // manifest.json could not list it
        throw IoError("A hook wrote " + escaped_name(name.string()) +
                      " for a checkpoint, whose name is not UTF-8.");
      (entry.is_directory() ? found.folders : found.files).push_back(name);
    }
  } catch (const fs::filesystem_error& error) {
    throw IoError("Cannot read the folder " + hook_files.string() + ": " + error.code().message() + ".");
  }
  return found;
}

// Writes the files of a checkpoint and records their sizes and checksums for the manifest.
class Writer {
 public:
  explicit Writer(fs::path folder) : folder_(std::move(folder)) {}

  void tensors(const std::string& name, const TensorList& tensors) {
    note(name, write_safetensors(folder_ / name, tensors, {{"format", "pt"}}));
  }
  // Writes this rank's part and waits for those that other ranks are writing. Returns the whole state.
  Json parts(const std::string& name, const State& own, int ranks, const WaitOptions& wait) {
    write_part(folder_, {name, 0, ranks}, own);
    std::vector<Json> layouts;
    for (int rank = 0; rank < ranks; ++rank) {
      const RankPart part{name, rank, ranks};
      WrittenPart written = wait_for_part(folder_, part, wait);
      if (written.file) note(part.file(), *written.file);
      layouts.push_back(std::move(written.layout));
    }
    if (const auto index = index_of(name, layouts))
      text(name + ".safetensors.index.json", *index);
    else if (is_optimizer(name))
      tensors(name + ".safetensors", {});
    return joined(layouts);
  }
  void model(const std::string& stem, const TensorList& tensors, std::int64_t max_shard_bytes) {
    for (const auto& [name, written] : write_sharded_safetensors(folder_, stem, tensors, max_shard_bytes))
      note(name, written);
  }
  // Moves the files and folders that hooks wrote into the checkpoint, and flushes them.
  void take_over(const fs::path& hook_files) {
    const auto [files, folders] = contents_of(hook_files);
    for (const fs::path& name : folders) fs::create_directory(folder_ / name);
    for (const fs::path& name : files) {
      if (fs::exists(folder_ / name) || name == "manifest.json")
        throw IoError("A hook wrote " + name.string() + ", a file that the checkpoint has already.");
      fs::rename(hook_files / name, folder_ / name);
      flush_file(folder_ / name);
      note(name.generic_string(), read_written_file(folder_ / name));
    }
    for (const fs::path& name : folders) flush_folder(folder_ / name);
  }
  void text(const std::string& name, const std::string& text) {
    AtomicFile file(folder_ / name);
    file.write(text);
    file.commit();
    note(name, written_file(text));
  }
  const Json& files() const { return files_; }

 private:
  void note(const std::string& name, const WrittenFile& written) { files_[name] = to_json(written); }

  fs::path folder_;
  Json files_ = Json::object();
};

void offer_models(const std::vector<ModelStatesHook>& hooks, Checkpoint& checkpoint, const fs::path& folder) {
  ModelStates models;
  std::erase_if(checkpoint.states, [&](auto& entry) {
    if (is_model(entry.first)) models.insert(entry);
    return is_model(entry.first);
  });
  for (const ModelStatesHook& hook : hooks) hook(models, folder);
  for (auto& [name, state] : models) {
    if (!is_model(name))
      throw std::runtime_error("A hook gave a checkpoint " + in_quotes(name) +
                               ", which is not the name of a model.");
    checkpoint.states.emplace(name, std::move(state));
  }
}

}  // namespace

void call_save_hooks(const std::vector<ModelStatesHook>& hooks, Checkpoint& checkpoint,
                     const fs::path& folder) {
  if (hooks.empty()) return;
  const auto hook_files =
      std::make_shared<TemporaryFolderBeside>(folder.parent_path() / ("hooks-" + folder.filename().string()));
  offer_models(hooks, checkpoint, hook_files->path());
  checkpoint.hook_files = hook_files;
}

void call_load_hooks(const std::vector<ModelStatesHook>& hooks, Checkpoint& checkpoint,
                     const fs::path& folder) {
  if (!hooks.empty()) offer_models(hooks, checkpoint, folder);
}

void write_checkpoint(TemporaryFolderBeside& folder, const Checkpoint& checkpoint,
                      const CheckpointSettings& settings, const WaitOptions& wait) {
  Writer writer(folder.path());
  Json states = Json::object();
  TensorList others;
  for (const auto& [name, state] : checkpoint.states) {
    if (checkpoint.sharded.contains(name)) continue;
    states[name] = to_json(state);
    if (is_model(name)) {
      writer.model(name, tensors_of(state), settings.max_shard_bytes);
    } else if (is_optimizer(name)) {
      writer.tensors(name + ".safetensors", tensors_of(state));
    } else {
      for (auto& tensor : tensors_of(state, name + "/")) others.push_back(std::move(tensor));
    }
  }
  writer.tensors("state.safetensors", others);
  // Last, because other ranks may take longer.
  for (const std::string& name : checkpoint.sharded)
    states[name] = writer.parts(name, checkpoint.states.at(name), static_cast<int>(checkpoint.ranks), wait);
  writer.text("state.json", states.dump(1) + "\n");
  for (const auto& [name, text] : checkpoint.texts) writer.text(name, text);
  if (checkpoint.hook_files) writer.take_over(checkpoint.hook_files->path());

  Json manifest{{"format", manifest_format},     {"step", checkpoint.step},   {"epoch", checkpoint.epoch},
                {"seconds", checkpoint.seconds}, {"ranks", checkpoint.ranks}, {"created", time_text()}};
  if (checkpoint.kept) manifest["kept"] = true;
  // A class named by a folder, or the file of a plugin, need not be UTF-8 as JSON is.
  for (const auto& [name, value] : checkpoint.metrics) manifest["metrics"][valid_utf8(name)] = value;
  for (const auto& [name, version] : checkpoint.versions) manifest["versions"][valid_utf8(name)] = version;
  manifest["files"] = writer.files();
  AtomicFile file(folder.path() / "manifest.json");
  file.write(manifest.dump(1) + "\n");
  file.commit();
  folder.commit();
}

std::string damage_of_any_file(const fs::path& folder, const Json& manifest) {
  return damage_of(folder, manifest);
}

std::string already_checked(const fs::path&, const Json&) { return ""; }

Checkpoint read_checkpoint(const fs::path& folder, const DamageCheck& check) {
  const Json manifest = read_manifest(folder);
  if (const std::string wrong = check(folder, manifest); !wrong.empty())
    throw std::runtime_error("The checkpoint " + folder.string() + " is damaged: " + wrong + ".");
  CheckpointSummary summary = summary_of(manifest, folder);
  Checkpoint checkpoint;
  checkpoint.step = summary.step;
  checkpoint.epoch = summary.epoch;
  checkpoint.seconds = summary.seconds;
  checkpoint.ranks = summary.ranks;
  checkpoint.kept = summary.kept;
  checkpoint.metrics = std::move(summary.metrics);
  checkpoint.versions = std::move(summary.versions);
  const auto listed = [&](const std::string& file) { return is_listed(manifest, file); };
  const auto others = read_safetensors(folder / "state.safetensors");
  const Json states = read_json_object(folder / "state.json");
  for (const auto& [name, json] : states.items()) {
    try {
      if (fs::path(name).filename() != name) throw StateError("it is not the name of a state");
      // States that are sharded across ranks have files of their own, too.
      const bool own_files = is_model(name) || is_optimizer(name) || listed(name + ".safetensors.index.json");
      checkpoint.states[name] =
          own_files ? state_from_json(json, read_sharded_safetensors(folder, name, listed), "")
                    : state_from_json(json, others, name + "/");
    } catch (const StateError& error) {
      throw std::runtime_error("The checkpoint " + folder.string() + " is damaged: state.json, " +
                               in_quotes(name) + ": " + error.what() + ".");
    }
  }
  for (const auto& [name, expected] : manifest.at("files").items()) {
    if (fs::path(name).has_parent_path()) continue;  // written by a hook
    if (name.ends_with(".toml") || name.ends_with(".txt"))
      checkpoint.texts[name] = read_file(folder / name, largest_json);
  }
  return checkpoint;
}

}  // namespace runner
