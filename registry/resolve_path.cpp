#include "registry/resolve_path.hpp"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace runner {

namespace fs = std::filesystem;

std::filesystem::path home_folder() {
  if (const char* home = std::getenv("HOME"); home && *home) return home;
  const passwd* user = ::getpwuid(::getuid());
  return user && user->pw_dir ? user->pw_dir : "";
}

namespace {

std::optional<fs::path> with_home(const std::string& path) {
  if (path != "~" && !path.starts_with("~/")) return path;
  const fs::path home = home_folder();
  if (home.empty()) return {};
  return home / path.substr(std::min<std::size_t>(2, path.size()));
}

}  // namespace

fs::path normal_path(const fs::path& path) {
  const fs::path normal = path.lexically_normal();
  return normal.has_filename() || !normal.has_relative_path() ? normal : normal.parent_path();
}

std::optional<std::string> resolve_path(const std::string& path, const Origin& origin) {
  if (path.empty()) return path;
  const auto named = with_home(path);
  if (!named) return {};
  const bool in_file = origin.source && origin.source->kind == Source::Kind::file;
  const fs::path folder = in_file ? fs::path(origin.source->name).parent_path() : fs::path();
  return normal_path(fs::absolute(folder / *named)).string();
}

}  // namespace runner
