#include "runner/plugins/skeleton.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <stdexcept>

#include "registry/base/wording.hpp"
#include "registry/files/atomic_file.hpp"
#include "runner/plugins/plugin_error.hpp"

namespace runner {

namespace fs = std::filesystem;

namespace {

// "two_towers" as the name of a class: "TwoTowers".
std::string class_name(const std::string& name) {
  std::string out;
  bool upper = true;
  for (const char c : name) {
    if (c != '_') out += upper && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    upper = c == '_';
  }
  return out;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

// Whether C++ code refers to this name, outside of comments and strings, without naming its namespace.
bool uses(const std::string& code, const std::string& name) {
  static const std::regex no_code(R"re(//[^\n]*|"[^"\n]*"|::\w+)re");
  return std::regex_search(std::regex_replace(code, no_code, " "), std::regex("\\b" + name + "\\b"));
}

}  // namespace

std::vector<std::string> skeleton_kinds(const fs::path& examples) {
  std::vector<std::string> kinds;
  std::error_code error;
  for (fs::directory_iterator entry(examples, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->is_directory()) kinds.push_back(entry->path().filename().string());
  }
  std::ranges::sort(kinds);
  return kinds;
}

std::string problem_of_plugin_name(const std::string& name) {
  const auto is_lower = [](char c) { return c >= 'a' && c <= 'z'; };
  const bool right =
      !name.empty() && is_lower(name.front()) && name.size() <= 64 &&
      std::ranges::all_of(name, [&](char c) { return is_lower(c) || (c >= '0' && c <= '9') || c == '_'; });
  if (!right)
    return in_quotes(name) +
           " is not a valid plugin name: use lower-case letters, digits and _, starting with a letter";
  constexpr std::array targets_of_cmake{"all",     "clean",          "edit_cache", "help", "install",
                                        "package", "package_source", "preinstall", "test", "rebuild_cache"};
  if (std::ranges::find(targets_of_cmake, name) != targets_of_cmake.end())
    return "a plugin cannot be called " + in_quotes(name) +
           ", which is a target of CMake: choose another name, such as my_" + name;
  return "";
}

void write_skeleton(const fs::path& examples, const std::string& kind, const std::string& name,
                    const fs::path& folder) {
  if (fs::exists(folder) && !(fs::is_directory(folder) && fs::is_empty(folder)))
    throw std::runtime_error(folder.string() + " exists already; choose another folder with --output");
  const std::string example = "my_" + kind;
  const auto renamed = [&](std::string text) {
    return replaced(replaced(std::move(text), example, name), class_name(example), class_name(name));
  };
  std::map<std::string, std::string> files;  // by name
  for (const auto& entry : fs::directory_iterator(examples / kind)) {
    const fs::path& file = entry.path();
    const bool of_skeleton = file.extension() == ".cpp" || file.extension() == ".toml" ||
                             file.filename() == "CMakeLists.txt" || file.filename() == ".gitignore";
    if (!of_skeleton) continue;  // build output
    std::ostringstream text;
    text << std::ifstream(file, std::ios::binary).rdbuf();
    if (name != example && file.extension() == ".cpp" && uses(text.str(), class_name(name)))
      throw PluginError(with_article(kind) + " cannot be called " + in_quotes(name) +
                            ": its code uses another " + class_name(name),
                        {"choose another name, such as my_" + name});
    files.emplace(renamed(file.filename().string()), renamed(text.str()));
  }
  fs::create_directories(folder);
  for (const auto& [file, text] : files) write_atomically(folder / file, text);
}

}  // namespace runner
