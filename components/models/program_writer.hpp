#pragma once

#include <filesystem>

namespace runner {

// A model that can write itself as a program of torch.export, with its weights.
class ProgramWriter {
 public:
  virtual ~ProgramWriter() = default;
  virtual void write_program(const std::filesystem::path& out) const = 0;
};

}  // namespace runner
