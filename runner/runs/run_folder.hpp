#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "runner/recipe/recipe.hpp"

namespace runner {

// The file that names the checkpoint of another run that a run was started from.
inline constexpr std::string_view start_note = "started_from.txt";

// The folder that a run writes, readable by other tools: recipe.toml, metrics.jsonl, log.txt, checkpoints/,
// model.safetensors, result.json. Only one process at a time may write to it: the folder is locked while the
// object exists, and a lock left by a dead process does not block a new one. A file system without locks only
// causes a warning.
class RunFolder {
 public:
  // The existing run in run.dir, locked; nullopt if the folder is missing, empty, or holds only what an
  // interrupted start has left. Throws if another process uses it, or if it holds something that is not a
  // run.
  static std::optional<RunFolder> find(const RunSection& run);
  // Creates run.dir if it is set; otherwise runs/<name>/<time>, with a link runs/<name>/latest.
  static RunFolder create(const RunSection& run);
  // The folder of an earlier run, locked, to resume it.
  static RunFolder open(const std::filesystem::path& path);
  // A folder that is deleted with the object, for dry runs and for ranks other than 0.
  static RunFolder make_temporary();

  RunFolder(RunFolder&& other) noexcept;
  RunFolder& operator=(RunFolder&&) = delete;
  ~RunFolder();

  const std::filesystem::path& path() const { return path_; }
  bool temporary() const { return temporary_; }
  std::filesystem::path file(std::string_view name) const { return path_ / name; }
  void write(std::string_view name, std::string_view text) const;  // atomically

  // Throws std::runtime_error if the folder was deleted or moved: anything written would be lost.
  void require_there() const;

  // The process that is using the folder, if any; never one that has ended or has reused its process id.
  struct Owner {
    long pid = 0;
    std::string host;
  };
  static std::optional<Owner> owner(const std::filesystem::path& path);

 private:
  class Lock;

  RunFolder(std::filesystem::path path, bool temporary);

  std::filesystem::path path_;
  bool temporary_;
  std::unique_ptr<Lock> lock_;
};

}  // namespace runner
