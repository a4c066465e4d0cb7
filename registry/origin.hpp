#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace runner {

// A text that settings came from: kept whole, so that a message can show the line and point into it.
struct Source {
  enum class Kind { file, argument, environment };

  Kind kind = Kind::file;
  std::string name;  // the path of a file, the key that an argument sets, or the variable's name
  std::string text;
};

// Where a key or a value came from. Travels with the value through inheritance, overrides and references.
struct Origin {
  std::shared_ptr<const Source> source;  // none: the default
  std::uint32_t line = 0;                // counted from 1
  std::uint32_t column = 0;              // counted from 1, in bytes
  std::uint32_t length = 0;              // in bytes; 0: unknown
  int layer = 0;  // higher layers win: files in order of inheritance, environment, command line

  bool is_default() const { return source == nullptr; }
};

// "recipes/a.toml:14:1", "argument optimizer.lr", "environment RUNNER_OPTIMIZER__LR" or "default".
std::string to_string(const Origin& origin);

}  // namespace runner
