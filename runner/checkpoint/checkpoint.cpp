#include "runner/checkpoint/checkpoint.hpp"

#include <ctime>
#include <nlohmann/json.hpp>

#include "components/support/io/atomic_file.hpp"
#include "components/support/io/folders.hpp"
#include "components/support/io/open_file.hpp"
#include "components/support/io/read_json.hpp"
#include "components/support/io/sha256.hpp"
#include "components/support/weights/safetensors.hpp"
#include "components/support/weights/sharded_safetensors.hpp"
#include "runner/checkpoint/state_json.hpp"

namespace runner {

namespace fs = std::filesystem;

namespace {

using Json = nlohmann::json;

constexpr int format = 1;

std::string time_text() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &local);
  return text;
}

std::vector<std::pair<std::string, torch::Tensor>> pairs(const std::vector<NamedTensor>& tensors) {
  std::vector<std::pair<std::string, torch::Tensor>> all;
  for (const auto& [name, tensor] : tensors) all.emplace_back(name, tensor);
  return all;
}

// Writes the files of a checkpoint and notes what each should be.
class Writer {
 public:
  explicit Writer(fs::path folder) : folder_(std::move(folder)) {}

  void tensors(const std::string& name, const std::vector<NamedTensor>& tensors) {
    note(name, write_safetensors(folder_ / name, pairs(tensors), {{"format", "pt"}}));
  }
  void model(const std::vector<NamedTensor>& tensors, std::int64_t max_shard_bytes) {
    for (const auto& [name, written] :
         write_sharded_safetensors(folder_, "model", pairs(tensors), max_shard_bytes))
      note(name, written);
  }
  void text(const std::string& name, const std::string& text) {
    AtomicFile file(folder_ / name);
    file.write(text);
    file.commit();
    Sha256 digest;
    digest.update({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
    note(name, {text.size(), digest.hex()});
  }
  const Json& files() const { return files_; }

 private:
  void note(const std::string& name, const WrittenFile& written) {
    files_[name] = {{"size", written.size}, {"sha256", written.sha256}};
  }

  fs::path folder_;
  Json files_ = Json::object();
};

std::string contents(const fs::path& path) {
  std::vector<std::uint8_t> bytes;
  read_file(path, bytes, largest_json);
  return {bytes.begin(), bytes.end()};
}

// Bounded in size, depth and number of values: a checkpoint may come from anywhere.
Json read_object(const fs::path& path) {
  Json json = read_json_file(path);
  if (!json.is_object()) throw std::runtime_error(path.string() + " is damaged: it is no JSON object.");
  return json;
}

Json read_manifest(const fs::path& folder) {
  const fs::path path = folder / "manifest.json";
  if (!fs::exists(path))
    throw std::runtime_error(folder.string() + " is no complete checkpoint: it has no manifest.json.");
  Json manifest = read_object(path);
  const auto files = manifest.find("files");
  if (manifest.value("format", 0) != format || files == manifest.end() || !files->is_object())
    throw std::runtime_error(path.string() + " is not a manifest of this version of the runner.");
  return manifest;
}

std::string damage(const fs::path& folder, const Json& manifest) {
  for (const auto& [name, expected] : manifest.at("files").items()) {
    const fs::path path = folder / name;
    if (fs::path(name).filename() != name) return "manifest.json names a file outside the checkpoint";
    if (!fs::is_regular_file(path)) return name + " is missing";
    const auto size = fs::file_size(path);
    if (size != expected.value("size", std::uint64_t{0}))
      return name + " has " + std::to_string(size) + " bytes instead of " +
             expected.value("size", Json()).dump();
    if (sha256_of_file(path) != expected.value("sha256", ""))
      return name + " does not have its checksum: its contents have changed";
  }
  return "";
}

std::map<std::string, double> measurements_of(const Json& manifest) {
  std::map<std::string, double> measurements;
  const auto found = manifest.find("measurements");
  if (found == manifest.end() || !found->is_object()) return measurements;
  for (const auto& [name, value] : found->items()) {
    if (value.is_number()) measurements[name] = value.get<double>();
  }
  return measurements;
}

}  // namespace

void write_checkpoint(const fs::path& folder, const Checkpoint& checkpoint,
                      const CheckpointSettings& settings) {
  TemporaryFolderBeside temporary(folder);
  Writer writer(temporary.path());
  Json states = Json::object();
  std::vector<NamedTensor> others;
  for (const auto& [name, state] : checkpoint.states) {
    states[name] = to_json(state);
    if (name == "model") {
      writer.model(tensors_of(state), settings.max_shard_bytes);
    } else if (name == "optimizer") {
      writer.tensors("optimizer.safetensors", tensors_of(state));
    } else {
      for (NamedTensor& tensor : tensors_of(state, name + "/")) others.push_back(std::move(tensor));
    }
  }
  writer.tensors("state.safetensors", others);
  writer.text("state.json", states.dump(1) + "\n");
  for (const auto& [name, text] : checkpoint.texts) writer.text(name, text);

  Json manifest{{"format", format},
                {"step", checkpoint.step},
                {"epoch", checkpoint.epoch},
                {"seconds", checkpoint.seconds},
                {"created", time_text()}};
  for (const auto& [name, value] : checkpoint.measurements) manifest["measurements"][name] = value;
  for (const auto& [name, version] : checkpoint.versions) manifest["versions"][name] = version;
  manifest["files"] = writer.files();
  AtomicFile file(temporary.path() / "manifest.json");
  file.write(manifest.dump(1) + "\n");
  file.commit();
  temporary.commit();
}

Checkpoint read_checkpoint(const fs::path& folder) {
  const Json manifest = read_manifest(folder);
  if (const std::string wrong = damage(folder, manifest); !wrong.empty())
    throw std::runtime_error("The checkpoint " + folder.string() + " is damaged: " + wrong + ".");
  Checkpoint checkpoint;
  checkpoint.step = manifest.value("step", std::int64_t{0});
  checkpoint.epoch = manifest.value("epoch", 0.0);
  checkpoint.seconds = manifest.value("seconds", 0.0);
  checkpoint.measurements = measurements_of(manifest);
  const Json versions = manifest.value("versions", Json::object());
  for (const auto& [name, version] : versions.items())
    checkpoint.versions[name] = version.is_string() ? version.get<std::string>() : version.dump();
  const auto model = read_sharded_safetensors(folder, "model");
  const auto optimizer = read_safetensors(folder / "optimizer.safetensors");
  const auto others = read_safetensors(folder / "state.safetensors");
  const Json states = read_object(folder / "state.json");
  for (const auto& [name, json] : states.items()) {
    try {
      checkpoint.states[name] = state_from_json(json,
                                                name == "model"       ? model
                                                : name == "optimizer" ? optimizer
                                                                      : others,
                                                name == "model" || name == "optimizer" ? "" : name + "/");
    } catch (const StateError& error) {
      throw std::runtime_error("The checkpoint " + folder.string() + " is damaged: state.json, \"" + name +
                               "\": " + error.what() + ".");
    }
  }
  for (const auto& [name, expected] : manifest.at("files").items()) {
    if (name.ends_with(".toml") || name.ends_with(".txt")) checkpoint.texts[name] = contents(folder / name);
  }
  return checkpoint;
}

CheckpointSummary read_summary(const fs::path& folder) {
  const Json manifest = read_manifest(folder);
  CheckpointSummary summary;
  summary.folder = folder;
  summary.step = manifest.value("step", std::int64_t{0});
  summary.epoch = manifest.value("epoch", 0.0);
  summary.created = manifest.value("created", "");
  summary.measurements = measurements_of(manifest);
  for (const auto& [name, file] : manifest.at("files").items())
    summary.bytes += file.value("size", std::int64_t{0});
  return summary;
}

std::string damage_of(const fs::path& folder) {
  try {
    return damage(folder, read_manifest(folder));
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace runner
