#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace runner {

// What the user trusts: the lines of the file `trusted` in the configuration folder of the user. A recipe and
// a run folder may come from anywhere, so what they name is compared with it.
//   server https://mlflow.example.org      credentials may be sent there
//   file /home/me/.mlflow-token            its content may be sent as a credential
//   variable DATA                          ${env:DATA} in a recipe may be sent to a server
//   path /scratch/me                       links in a run folder may lead there
//   plugin <sha256> /home/me/libmine.so    this code may run
class Trusted {
 public:
  // Reads the file. Throws InputError if others can write it, or if a line of it cannot be read.
  explicit Trusted(const std::map<std::string, std::string>& environment = {});

  static Trusted of_process();  // by the environment of this process

  bool server(const std::string& address) const;  // by scheme, host and port
  bool file(const std::filesystem::path& path) const;
  bool variable(const std::string& name) const;
  bool leads_to(const std::filesystem::path& path) const;
  // The same bytes are the same code wherever they lie, unless they load libraries from their own folder.
  bool plugin(const std::filesystem::path& path, const std::string& sha256) const;
  bool other_build_of(const std::filesystem::path& path) const;  // a plugin with this path is trusted

  // Adds a line, if it is not there: `what` as the user types it. Throws InputError. A plugin of the same
  // path is replaced.
  void add(std::string_view kind, const std::string& what);
  void add_plugin(const std::filesystem::path& path, const std::string& sha256);

  const std::filesystem::path& path() const { return path_; }  // of the file; empty: there is no home
  const std::vector<std::string>& lines() const { return lines_; }

  static const std::vector<std::string>& kinds();  // that add() takes

 private:
  bool holds(const std::string& line) const;
  void read();
  void append(const std::string& line, const std::function<bool(const std::string&)>& replaces = {});

  std::filesystem::path path_;
  std::vector<std::string> lines_;
};

}  // namespace runner
