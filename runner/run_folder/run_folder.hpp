#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "runner/recipe.hpp"

namespace runner {

// Everything about a run, readable by other tools: recipe.toml, metrics.jsonl, log.txt, checkpoints/,
// model.safetensors, result.json. One process at a time writes it: the folder is locked while the object
// lives, and a lock left by a dead process does not block a new one. On a file system without locks there is
// a warning instead.
class RunFolder {
 public:
  // The run that is in run.dir already, locked; none where the folder is new, empty, or holds nothing but
  // what a start that was cut short left. Throws where another process has it, or where it holds something
  // that is not a run.
  static std::optional<RunFolder> find(const RunSection& run);
  // Makes runs/<name>/<time> and lets runs/<name>/latest lead to it; or run.dir.
  static RunFolder create(const RunSection& run);
  // The folder of an earlier run, locked, to continue it.
  static RunFolder open(const std::filesystem::path& path);
  // A folder that is gone when the object is: for trying a recipe out.
  static RunFolder make_temporary();

  RunFolder(RunFolder&& other) noexcept;
  RunFolder& operator=(RunFolder&&) = delete;
  ~RunFolder();

  const std::filesystem::path& path() const { return path_; }
  bool temporary() const { return temporary_; }
  std::filesystem::path file(std::string_view name) const { return path_ / name; }
  void write(std::string_view name, std::string_view text) const;  // atomically

  // Throws std::runtime_error if the folder was deleted: what is written would be lost.
  void require_there() const;

  // The process that writes to the folder now, if any: never one that has ended, nor another of its number.
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

std::string host_name();  // of this machine, as a lock names it

}  // namespace runner
