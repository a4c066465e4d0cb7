#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ostream>

#include "registry/base/suggest.hpp"
#include "registry/base/wording.hpp"
#include "registry/files/sha256.hpp"
#include "runner/cli/commands.hpp"
#include "runner/cli/options/data_folders.hpp"
#include "runner/cli/problem.hpp"
#include "runner/plugins/find_plugin.hpp"
#include "runner/plugins/load_plugin.hpp"
#include "runner/plugins/plugin_error.hpp"
#include "runner/plugins/read_stamp.hpp"
#include "runner/plugins/skeleton.hpp"
#include "runner/plugins/trusted.hpp"
#include "runner/process/processes.hpp"
#include "runner/terminal/text.hpp"

namespace runner::cli {

namespace fs = std::filesystem;

namespace {

int make_skeleton(const std::string& name, const Arguments& arguments, Session& session) {
  if (const std::string problem = problem_of_plugin_name(name); !problem.empty())
    return refuse({problem}, session);
  const std::string kind = arguments.has("kind") ? arguments.get("kind") : "model";
  if (session.registry.find(kind, name))
    return refuse({"there is a " + kind + " called " + in_quotes(name) + " already",
                   {"choose another name, such as my_" + name}},
                  session);
  std::vector<std::string> kinds;
  for (const fs::path& examples : data_folders("examples/plugin")) {
    const std::vector<std::string> found = skeleton_kinds(examples);
    kinds.insert(kinds.end(), found.begin(), found.end());
    if (std::ranges::find(found, kind) == found.end()) continue;
    const fs::path folder = arguments.has("output") ? arguments.get("output") : name;
    write_skeleton(examples, kind, name, folder);
    const std::string where = folder.string();
    session.out << "wrote " << where << "\n"
                << two_columns({{"runner plugin build " + where, "builds it"},
                                {"runner " + where + "/" + name + ".toml", "trains with it"}});
    return Exit::done;
  }
  Problem problem{"there is no plugin skeleton for kind " + in_quotes(kind)};
  if (const auto hint = did_you_mean(kind, kinds)) problem.hints.push_back(*hint);
  problem.hints.push_back(kinds.empty()
                              ? "the folder share/runner/examples/plugin of the installation is missing"
                              : "there is one for: " + joined(kinds));
  return refuse(problem, session);
}

// Notes that the user trusts the plugin; false if it is none. Runs none of its code.
bool trust_plugin(const fs::path& file, Trusted& trusted) {
  if (!read_stamp(file)) return false;
  trusted.add_plugin(file, sha256_of_file(file));
  return true;
}

// The folder that find_package(runner) needs, of this program's installation or build tree.
std::optional<fs::path> package_folder() {
  const fs::path prefix = program_folder() / "..";
  std::vector<fs::path> candidates{prefix / "lib/cmake/runner", prefix};
  std::error_code error;
  for (fs::directory_iterator entry(prefix / "lib", error), end; !error && entry != end;
       entry.increment(error))
    candidates.push_back(entry->path() / "cmake/runner");
  for (const fs::path& candidate : candidates) {
    if (fs::is_regular_file(candidate / "runnerConfig.cmake", error)) return fs::canonical(candidate);
  }
  return std::nullopt;
}

// Runs a program, which writes to our own output; returns its exit code.
int run_program(std::vector<std::string> words, Session& session) {
  session.out << session.out_style.dim(joined(words, " ")) << std::endl;
  const std::vector<char*> arguments = pointers(words);
  pid_t process = 0;
  if (const int error =
          posix_spawnp(&process, arguments.front(), nullptr, nullptr, arguments.data(), environ)) {
    throw std::runtime_error("cannot run " + words.front() + ": " + std::strerror(error) +
                             (error == ENOENT ? "; install it (apt-get install cmake g++)" : ""));
  }
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) continue;
  return exit_code_of(status);
}

int build(const fs::path& folder, const Arguments& arguments, Session& session) {
  if (!fs::is_regular_file(folder / "CMakeLists.txt"))
    return refuse({"there is no CMakeLists.txt in " + folder.string(), {"runner plugin new NAME writes one"}},
                  session);
  const auto package = package_folder();
  if (!package) {
    return refuse({"this installation cannot build plugins: runnerConfig.cmake is missing"}, session);
  }
  const std::string tree = (folder / "build").string();
  const bool tested = arguments.has("test");
  const std::vector<std::vector<std::string>> steps{
      {"cmake", "-S", folder.string(), "-B", tree, "-DCMAKE_BUILD_TYPE=Release",
       "-Drunner_DIR=" + package->string(), std::string("-DBUILD_TESTING=") + (tested ? "ON" : "OFF")},
      {"cmake", "--build", tree, "--parallel"},
      {"ctest", "--test-dir", tree, "--output-on-failure"}};
  for (const auto& step : steps) {
    if (step.front() == "ctest" && !tested) continue;
    if (run_program(step, session) != 0) return Exit::failed;
  }
  Trusted trusted(session.environment);  // who builds a plugin trusts it
  for (const fs::path& library : plugins_on_path({folder})) trust_plugin(library, trusted);
  return Exit::done;
}

int show(const fs::path& file, Session& session) {
  const auto stamp = read_stamp(file);
  if (!stamp)
    return refuse({file.string() + " is a shared library, but not a plugin: it has no stamp"}, session);
  const std::string difference = misfit(*stamp);
  session.out << two_columns({{"interface", std::to_string(stamp->interface)},
                              {"runner", stamp_text(stamp->runner)},
                              {"libtorch", stamp_text(stamp->libtorch)},
                              {"compiler", stamp_text(stamp->compiler)},
                              {"library", stamp_text(stamp->library)},
                              {"build", stamp_text(stamp->build)},
                              {"fits", difference.empty() ? "yes" : "no: it " + difference}},
                             "");
  return difference.empty() ? Exit::done : Exit::failed;
}

int trust(const fs::path& file, Session& session) {
  Trusted trusted(session.environment);
  if (!trust_plugin(file, trusted))
    return refuse({file.string() + " is a shared library, but not a plugin: it has no stamp"}, session);
  session.out << "trusts " << escaped_name(file.string()) << ", as it is now (" << trusted.path().string()
              << ")\n";
  return Exit::done;
}

int plugin(const Arguments& arguments, Session& session) {
  const std::string action = arguments.get("ACTION"), what = arguments.get("WHAT");
  try {
    if (action == "new") return make_skeleton(what, arguments, session);
    if (action == "build") return build(what, arguments, session);
    if (action == "show") return show(what, session);
    if (action == "trust") return trust(what, session);
  } catch (const PluginError& error) {
    return refuse({error.what(), error.hints}, session);
  }
  return refuse(
      {"unknown action " + in_quotes(action) + "; use new, build, show or trust", {}, "runner plugin --help"},
      session);
}

}  // namespace

Command plugin_command() {
  return {
      .name = "plugin",
      .summary = "Write, build and examine plugins: components of your own.",
      .arguments =
          {{"ACTION",
            "\"new\" writes one to start from, \"build\" builds it, \"show\" says what it was built with, "
            "\"trust\" lets recipes in its folder load it."},
           {"WHAT",
            "For \"new\" the name of the plugin, for \"build\" its folder, for \"show\" and \"trust\" its "
            "file.",
            Argument::Count::one, Word::file}},
      .options = {{.name = "kind",
                   .doc = "For \"new\": its kind; default: model.",
                   .value = "KIND",
                   .word = Word::kind},
                  {.name = "output",
                   .doc = "For \"new\": the folder to write; default: the name of the plugin.",
                   .value = "DIR",
                   .letter = 'o',
                   .word = Word::file},
                  {.name = "test", .doc = "For \"build\": run its tests, too."}},
      .examples = {{"runner plugin new two_towers --kind model", "source, test, CMakeLists.txt and recipe"},
                   {"runner plugin build two_towers --test", "needs CMake and a C++ compiler"},
                   {"runner two_towers/two_towers.toml", "trains with it"},
                   {"runner plugin trust shared/libmy_loss.so", "one that somebody else has built"}},
      .run = &plugin,
      .details = "docs/extending.md explains plugins step by step.",
      .loads_plugins = false};
}

}  // namespace runner::cli
