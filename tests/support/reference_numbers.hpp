// Numbers that a script in tests/parity took from PyTorch: one line each, "name number number ..".
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace runner::testing {

class ReferenceNumbers {
 public:
  explicit ReferenceNumbers(const std::string& file) {
    const char* root = std::getenv("RUNNER_SOURCE_DIR");
    const auto path = std::filesystem::path(root ? root : ".") / "tests" / "parity" / file;
    std::ifstream in(path);
    if (!in) throw std::runtime_error("cannot read " + path.string());
    for (std::string line; std::getline(in, line);) {
      std::istringstream words(line);
      std::string name;
      words >> name;
      for (std::string word; words >> word;) lines_[name].push_back(std::strtod(word.c_str(), nullptr));
    }
  }

  const std::vector<double>& operator[](const std::string& name) const {
    const auto found = lines_.find(name);
    if (found == lines_.end()) throw std::runtime_error("the reference has no \"" + name + "\"");
    return found->second;
  }

 private:
  std::map<std::string, std::vector<double>> lines_;
};

}  // namespace runner::testing
