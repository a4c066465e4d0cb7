#include "runner/recipe/recipe.hpp"

#include "registry/base/suggest.hpp"
#include "registry/base/wording.hpp"
#include "runner/engine/runtime/device.hpp"

namespace runner {

namespace {

// The device that is probably meant by "gpu", "0" or "cuda1".
std::optional<std::string> meant_device(const std::string& device) {
  if (device.starts_with("gpu") || device == "nvidia") return "cuda";
  if (is_device_name("cuda:" + device)) return "cuda:" + device;
  if (device.size() > 4 && is_device_name("cuda:" + device.substr(4))) return "cuda:" + device.substr(4);
  return nearest(device, {"auto", "cpu", "cuda", "mps", "xpu"});
}

}  // namespace

void check(const RunSection& run, Report& report) {
  if (!is_device_name(run.device)) {
    const auto meant = meant_device(run.device);
    report.error(
        "device",
        "cannot be " + in_quotes(run.device) + (meant ? "; did you mean " + in_quotes(*meant) + "?" : "") +
            " (\"auto\", \"cpu\", \"cuda\" or \"cuda:1\"; also xpu, mps and other accelerators of LibTorch)");
  }
  if (run.cudnn_benchmark && run.deterministic)
    report.error("cudnn_benchmark",
                 "chooses kernels by their speed, so that results may differ from run to run, which "
                 "run.deterministic rules out: delete one of the two");
  if (run.cudnn_benchmark && run.device == "cpu")
    report.error("cudnn_benchmark", "is for CUDA devices, but run.device is \"cpu\": delete it");
  // The name becomes a folder: one that would lead elsewhere is a mistake.
  if (run.name.find('/') != std::string::npos || run.name == "." || run.name == "..") {
    report.error("name", "becomes the name of a folder, so it cannot be " + in_quotes(run.name) +
                             "; choose where the run goes with \"dir\"");
  }
  constexpr std::size_t longest_name = 200;  // file systems allow 255 bytes, of which some are for endings
  if (run.name.size() > longest_name)
    report.error("name", "becomes the name of a folder, so it can have at most " +
                             std::to_string(longest_name) + " bytes; it has " +
                             std::to_string(run.name.size()));
}

void check(const LoaderSection& loader, Report& report) {
  if (loader.workers == 0 && loader.prefetch)
    report.error("prefetch", "has no effect with workers = 0: a batch is loaded when it is needed");
}

void check(const TrainSection& train, Report& report) {
  if (!train.epochs && !train.max_steps && !train.max_time) {
    report.error("epochs", "or \"max_steps\" or \"max_time\" is needed: nothing says when the run ends");
  }
  if (train.clip_norm && train.clip_value && *train.clip_value >= *train.clip_norm) {
    report.warning("clip_value",
                   "changes nothing: once \"clip_norm\" has been applied, no element is that large");
  }
}

}  // namespace runner
