#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "runner/recipe.hpp"

namespace runner {

// Everything about a run, readable by other tools: recipe.toml, metrics.jsonl, log.txt, model.safetensors ..
class RunFolder {
 public:
  // Makes runs/<name>/<time>, or run.dir, which must be new or empty: a run never writes over another.
  static RunFolder create(const RunSection& run);
  // A folder that is gone when the object is: for trying a recipe out.
  static RunFolder make_temporary();

  RunFolder(RunFolder&& other) noexcept;
  RunFolder& operator=(RunFolder&&) = delete;
  ~RunFolder();

  const std::filesystem::path& path() const { return path_; }
  bool temporary() const { return temporary_; }
  std::filesystem::path file(std::string_view name) const { return path_ / name; }
  void write(std::string_view name, std::string_view text) const;  // atomically

 private:
  RunFolder(std::filesystem::path path, bool temporary) : path_(std::move(path)), temporary_(temporary) {}

  std::filesystem::path path_;
  bool temporary_;
};

}  // namespace runner
