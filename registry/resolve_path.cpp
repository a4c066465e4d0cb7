#include "registry/resolve_path.hpp"

#include <cstdlib>
#include <filesystem>

namespace runner {

namespace fs = std::filesystem;

namespace {

fs::path with_home(const std::string& path) {
  const bool begins_at_home = path == "~" || path.starts_with("~/");
  const char* home = begins_at_home ? std::getenv("HOME") : nullptr;
  return home && *home ? fs::path(home) / path.substr(std::min<std::size_t>(2, path.size())) : fs::path(path);
}

}  // namespace

std::string resolve_path(const std::string& path, const Origin& origin) {
  if (path.empty()) return path;
  const fs::path named = with_home(path);
  const bool in_file = origin.source && origin.source->kind == Source::Kind::file;
  const fs::path folder = in_file ? fs::path(origin.source->name).parent_path() : fs::path();
  std::string absolute = fs::absolute(folder / named).lexically_normal().string();
  if (absolute.size() > 1 && absolute.ends_with('/')) absolute.pop_back();
  return absolute;
}

}  // namespace runner
