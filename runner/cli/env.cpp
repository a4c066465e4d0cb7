#include <ATen/Config.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <dlfcn.h>
#include <sys/utsname.h>
#include <torch/version.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <ostream>

#include "registry/base/byte_size.hpp"
#include "registry/base/machine.hpp"
#include "runner/cli/commands.hpp"
#include "runner/describe/json.hpp"
#include "runner/engine/runtime/device.hpp"
#include "runner/engine/runtime/process.hpp"
#include "runner/process/version.hpp"
#include "runner/ranks/nccl.hpp"
#include "runner/terminal/text.hpp"

namespace runner::cli {

namespace fs = std::filesystem;

namespace {

struct Fact {
  std::string key;
  std::string value;
};

// The text after "key:" or "key=" in a file of such lines.
std::string line_value(const std::string& file, std::string_view key) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    if (!line.starts_with(key)) continue;
    const auto separator = line.find_first_of(":=");
    if (separator == std::string::npos) continue;
    const auto first = line.find_first_not_of(" \t\"", separator + 1);
    const auto last = line.find_last_not_of(" \t\"");
    return first == std::string::npos || last < first ? "" : line.substr(first, last - first + 1);
  }
  return "";
}

std::string system() {
  utsname name{};
  if (uname(&name) != 0) return "unknown";
  const std::string distribution = line_value("/etc/os-release", "PRETTY_NAME");
  return (distribution.empty() ? std::string(name.sysname) : distribution) + ", " + name.sysname + " " +
         name.release + ", " + name.machine;
}

std::string compiler() {
#if defined(__clang__)
  return "clang++ " __clang_version__;
#else
  return "g++ " __VERSION__;
#endif
}

std::string processor() {
  std::string model = line_value("/proc/cpuinfo", "model name");
  if (model.empty()) model = "unknown";
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  return model + ", " + std::to_string(cores) + " cores" +
         (usable_cores() != cores ? ", " + std::to_string(usable_cores()) + " for this process" : "");
}

std::string instruction_sets() {
  constexpr std::array worth_knowing{"avx",      "f16c",        "fma",      "avx2",        "avx512f",
                                     "avx512vl", "avx512_vnni", "avx_vnni", "avx512_bf16", "avx512_fp16",
                                     "amx_tile", "amx_bf16",    "amx_int8", "amx_fp16",    "asimd",
                                     "sve",      "bf16",        "i8mm"};
  std::string flags = line_value("/proc/cpuinfo", "flags");
  if (flags.empty()) flags = line_value("/proc/cpuinfo", "Features");
  flags = " " + flags + " ";
  std::vector<std::string> found;
  for (const std::string name : worth_knowing) {
    if (flags.find(" " + name + " ") != std::string::npos) found.push_back(name);
  }
  return found.empty() ? "none that matter" : joined(found, " ");
}

// What oneDNN will use: a processor does not always execute all that it advertises.
std::string usable_instructions(const std::map<std::string, std::string>& environment) {
  const auto limit = environment.find("ONEDNN_MAX_CPU_ISA");
  if (limit != environment.end()) return "oneDNN limited to " + limit->second + " by ONEDNN_MAX_CPU_ISA";
  try {
    const std::string limited = steer_around_broken_instructions();
    return limited.empty() ? "all that are advertised" : limited;
  } catch (const std::exception& error) {
    return error.what();
  }
}

std::string memory() {
  const auto bytes_of = [](std::string_view key) {
    const std::string text = line_value("/proc/meminfo", key);
    return text.empty() ? 0 : std::stoull(text) * 1024;
  };
  return approximately(ByteSize{bytes_of("MemTotal")}) + ", " +
         approximately(ByteSize{bytes_of("MemAvailable")}) + " available";
}

std::string devices() {
  std::vector<std::string> names{"cpu"};
  std::ranges::move(usable_accelerators(), std::back_inserter(names));
  for (const std::string& gpu : installed_gpus()) names.push_back("cuda: " + gpu);
  if (names.size() > 1 && !has_cuda_build())
    names.emplace_back("(this LibTorch is a CPU build and uses none of them)");
  return joined(names);
}

std::string nccl() {
  const std::string version = nccl_version(), problem = nccl_problem();
  if (version.empty()) return "none: ranks on GPUs need a CUDA build";
  return version + (problem.empty() ? "" : " in LibTorch, but this program was built without it");
}

std::string libtorch_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&at::get_cpu_capability), &info) == 0 || !info.dli_fname) return "";
  return fs::path(info.dli_fname).lexically_normal().parent_path().string();
}

std::string relevant_variables(const std::map<std::string, std::string>& environment) {
  std::vector<std::string> found;
  for (const auto& [name, value] : environment) {
    const bool relevant = name.starts_with("OMP_") || name.starts_with("MKL_") || name.starts_with("KMP_") ||
                          name.starts_with("ONEDNN_") || name.starts_with("CUDA_") ||
                          name.starts_with("TORCH_") || name.starts_with("PYTORCH_") ||
                          name == "LD_PRELOAD" || name == "LD_LIBRARY_PATH";
    if (relevant) found.push_back(name + "=" + value);
    // Their values may be secret.
    if (name.starts_with("RUNNER_") && name.find("__") != std::string::npos) found.push_back(name + " (set)");
  }
  return found.empty() ? "none" : joined(found, " ");
}

// What a bug report should say about this machine. Opens no device: what it says about GPUs comes from files
// of the kernel.
std::vector<Fact> machine_facts(const std::map<std::string, std::string>& environment) {
  return {{"runner", version_text},
          {"libtorch", TORCH_VERSION + std::string(has_cuda_build() ? ", CUDA build" : ", CPU build") + ", " +
                           libtorch_folder()},
          {"compiler", compiler()},
          {"system", system()},
          {"processor", processor()},
          {"instructions", instruction_sets()},
          {"usable", usable_instructions(environment) + "; kernels of LibTorch: " + at::get_cpu_capability()},
          {"memory", memory()},
          {"threads", std::to_string(at::get_num_threads())},
          {"devices", devices()},
          {"nccl", nccl()},
          {"variables", relevant_variables(environment)}};
}

int env(const Arguments& arguments, Session& session) {
  const std::vector<Fact> facts = machine_facts(session.environment);
  if (arguments.has("json")) {
    nlohmann::ordered_json json = nlohmann::ordered_json::object();
    for (const Fact& fact : facts) json[fact.key] = fact.value;
    session.out << dumped(json);
    return Exit::done;
  }
  std::vector<std::pair<std::string, std::string>> rows;
  for (const Fact& fact : facts) rows.emplace_back(session.out_style.cyan(fact.key), fact.value);
  session.out << two_columns(rows, "");
  return Exit::done;
}

}  // namespace

Command env_command() {
  return {.name = "env",
          .summary = "Show versions, processor, memory, devices and libraries, to paste into a bug report.",
          .options = {{.name = "json", .doc = "The same as JSON, for programs."}},
          .examples = {{"runner env", "for people"}, {"runner env --json", "for programs"}},
          .run = &env,
          .loads_plugins = false};
}

}  // namespace runner::cli
