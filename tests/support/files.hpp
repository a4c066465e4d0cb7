#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>

namespace runner::testing {

// Writes the file, with the folders above it.
inline std::filesystem::path write_file(const std::filesystem::path& path, const std::string& bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream out(path, std::ios::binary);
  out << bytes;
  if (!out.flush()) throw std::runtime_error("cannot write " + path.string());
  return path;
}

// A tool of the system, such as gzip or tar: what it makes is what users have.
inline void shell(const std::string& command) {
  if (std::system(command.c_str()) != 0) throw std::runtime_error("failed: " + command);
}

// A folder of the real data that not every machine has.
inline std::optional<std::filesystem::path> test_data(const std::string& name) {
  const char* data = std::getenv("RUNNER_TEST_DATA");
  if (!data || !std::filesystem::exists(std::filesystem::path(data) / name)) return std::nullopt;
  return std::filesystem::path(data) / name;
}

inline std::filesystem::path source_folder() {
  const char* folder = std::getenv("RUNNER_SOURCE_DIR");
  return folder ? folder : ".";
}

// Sets an environment variable, or removes it, and puts back what was there.
class EnvironmentVariable {
 public:
  EnvironmentVariable(std::string name, const std::optional<std::string>& value) : name_(std::move(name)) {
    if (const char* held = std::getenv(name_.c_str())) before_ = held;
    set(value);
  }
  EnvironmentVariable(const EnvironmentVariable&) = delete;
  EnvironmentVariable& operator=(const EnvironmentVariable&) = delete;
  ~EnvironmentVariable() { set(before_); }

 private:
  void set(const std::optional<std::string>& value) const {
    value ? ::setenv(name_.c_str(), value->c_str(), 1) : ::unsetenv(name_.c_str());
  }

  std::string name_;
  std::optional<std::string> before_;
};

}  // namespace runner::testing
