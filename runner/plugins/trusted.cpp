#include "runner/plugins/trusted.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <sstream>

#include "components/trackers/http.hpp"
#include "registry/base/machine.hpp"
#include "registry/base/wording.hpp"
#include "registry/files/atomic_file.hpp"
#include "registry/files/beneath.hpp"
#include "registry/files/file_lock.hpp"
#include "registry/files/open_file.hpp"
#include "runner/process/input_error.hpp"

namespace runner {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t largest_list = 4 << 20;

fs::path list_of(const std::map<std::string, std::string>& environment) {
  const auto absolute = [&](const char* name) {
    const auto found = environment.find(name);
    const fs::path path = found == environment.end() ? fs::path() : fs::path(found->second);
    return path.is_absolute() ? path : fs::path();
  };
  if (const fs::path own = absolute("XDG_CONFIG_HOME"); !own.empty()) return own / "runner/trusted";
  const fs::path home = absolute("HOME");
  return home.empty() ? home : home / ".config/runner/trusted";
}

void require_private(const fs::path& path) {
  struct stat facts{};
  if (::stat(path.c_str(), &facts) == 0 && (facts.st_mode & S_IWOTH) != 0)
    throw InputError("everybody can write " + path.string() + ", which says what you trust; chmod o-w " +
                     path.string());
}

std::string real(const fs::path& path) {
  return goal_of(path).value_or(fs::absolute(path).lexically_normal()).string();
}

bool lies_below(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first == folder.end();
}

// Whether the library asks for others in its own folder, which may be other code in each folder.
bool names_its_folder(const fs::path& library) {
  constexpr std::size_t largest_library = std::size_t{1} << 30;
  const std::string bytes = read_file(library, largest_library);
  return bytes.find("$ORIGIN") != std::string::npos || bytes.find("${ORIGIN}") != std::string::npos;
}

// "plugin <sha256> <path>"
constexpr std::string_view plugin_kind = "plugin ";
constexpr std::size_t sha256_size = 64, plugin_path_at = plugin_kind.size() + sha256_size + 1;

bool is_plugin(const std::string& line) {
  return line.starts_with(plugin_kind) && line.size() > plugin_path_at && line[plugin_path_at - 1] == ' ';
}

}  // namespace

const std::vector<std::string>& Trusted::kinds() {
  static const std::vector<std::string> all{"server", "file", "variable", "path"};
  return all;
}

Trusted::Trusted(const std::map<std::string, std::string>& environment) : path_(list_of(environment)) {
  read();
}

Trusted Trusted::of_process() {
  std::map<std::string, std::string> environment;
  for (const char* name : {"XDG_CONFIG_HOME", "HOME"}) environment[name] = environment_variable(name);
  return Trusted(environment);
}

void Trusted::read() {
  lines_.clear();
  std::error_code ignored;
  if (path_.empty() || !fs::exists(path_, ignored)) return;
  require_private(path_);
  require_private(path_.parent_path());
  std::istringstream text(read_file(path_, largest_list));
  for (std::string line; std::getline(text, line);) {
    if (line.empty() || line.starts_with('#')) continue;
    const std::string kind = line.substr(0, line.find(' '));
    const bool known = std::ranges::find(kinds(), kind) != kinds().end() && kind.size() + 1 < line.size();
    if (!known && !is_plugin(line))
      throw InputError(path_.string() + " has the line " + in_quotes(line) + "; it must begin with " +
                       joined(kinds()) + " or plugin, followed by what is trusted");
    lines_.push_back(std::move(line));
  }
}

bool Trusted::holds(const std::string& line) const { return std::ranges::find(lines_, line) != lines_.end(); }

bool Trusted::server(const std::string& address) const {
  const std::string wanted = server_of(address);
  return !wanted.empty() && std::ranges::any_of(lines_, [&](const std::string& line) {
    constexpr std::string_view kind = "server ";
    return line.starts_with(kind) && server_of(line.substr(kind.size())) == wanted;
  });
}

bool Trusted::file(const fs::path& path) const { return holds("file " + real(path)); }

bool Trusted::variable(const std::string& name) const { return holds("variable " + name); }

bool Trusted::leads_to(const fs::path& path) const {
  const fs::path wanted = real(path);
  return std::ranges::any_of(lines_, [&](const std::string& line) {
    constexpr std::string_view kind = "path ";
    return line.starts_with(kind) && lies_below(wanted, real(line.substr(kind.size())));
  });
}

bool Trusted::plugin(const fs::path& path, const std::string& sha256) const {
  const std::string begin = std::string(plugin_kind) + sha256 + " ";
  if (holds(begin + real(path))) return true;
  const bool known =
      std::ranges::any_of(lines_, [&](const std::string& line) { return line.starts_with(begin); });
  return known && !names_its_folder(path);
}

bool Trusted::other_build_of(const fs::path& path) const {
  const std::string wanted = real(path);
  return std::ranges::any_of(lines_, [&](const std::string& line) {
    return is_plugin(line) && line.substr(plugin_path_at) == wanted;
  });
}

void Trusted::add(std::string_view kind, const std::string& what) {
  std::string trusted = what;
  if (what.empty() || what.find('\n') != std::string::npos)
    throw InputError("there is no " + std::string(kind) + " " + in_quotes(what));
  if (kind == "server" && (trusted = server_of(what)).empty())
    throw InputError(in_quotes(what) + " is not the address of a server, such as https://mlflow.example.org");
  if (kind == "variable" && what.find_first_of("= ${}") != std::string::npos)
    throw InputError(in_quotes(what) + " is not the name of an environment variable");
  if (kind == "file" || kind == "path") trusted = real(what);
  append(std::string(kind) + " " + trusted);
}

void Trusted::add_plugin(const fs::path& path, const std::string& sha256) {
  const std::string file = real(path);
  const std::string line = std::string(plugin_kind) + sha256 + " " + file;
  if (holds(line)) return;
  append(line,
         [&](const std::string& each) { return is_plugin(each) && each.substr(plugin_path_at) == file; });
}

// Several runs may add a line at the same time.
void Trusted::append(const std::string& line, const std::function<bool(const std::string&)>& replaces) {
  if (holds(line)) return;
  if (path_.empty()) throw InputError("there is no folder for settings of yours: set HOME");
  const FileLock lock(path_.string() + ".lock");
  read();
  if (replaces) std::erase_if(lines_, replaces);
  lines_.push_back(line);
  std::string text = "# What runner trusts, written by `runner trust` and `runner plugin trust`.\n";
  for (const std::string& each : lines_) text += each + "\n";
  write_atomically(path_, text);
}

}  // namespace runner
