#include "runner/check/trials.hpp"

#include <poll.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <utility>

#include "components/hooks/matmul_peak.hpp"
#include "registry/base/log.hpp"
#include "registry/base/wording.hpp"
#include "runner/engine/runtime/device.hpp"
#include "runner/process/processes.hpp"
#include "runner/ranks/launch/rank_output.hpp"
#include "runner/ranks/launch/rank_process.hpp"
#include "runner/runs/metrics_file.hpp"
#include "runner/terminal/format.hpp"

namespace runner {

namespace fs = std::filesystem;

namespace {

using Clock = std::chrono::steady_clock;

struct Ended {
  std::optional<int> status;  // none: it did not end in time
  std::string last_lines;
};

// Runs this program with these arguments in a new process.
Ended run_program(std::vector<std::string> words, const Environment& environment) {
  words.insert(words.begin(), own_program());
  RankProcess process = start_rank({std::move(words), environment});
  RankOutput output(std::move(process.output), "", nullptr);
  constexpr std::chrono::seconds patience{120};
  const auto deadline = Clock::now() + patience;
  while (output.open() && Clock::now() < deadline) {
    pollfd entry{output.descriptor(), POLLIN, 0};
    constexpr int until_the_next_look = 1000;
    poll(&entry, 1, until_the_next_look);
    output.take();
  }
  Ended ended;
  if (output.open()) kill(process.id, SIGKILL);
  int status = 0;
  while (waitpid(process.id, &status, 0) < 0 && errno == EINTR) {
  }
  if (!output.open()) ended.status = status;
  constexpr std::size_t most_lines = 4;
  const auto& lines = output.last_lines();
  const auto shown = static_cast<std::ptrdiff_t>(std::min(lines.size(), most_lines));
  ended.last_lines = joined(std::vector<std::string>(lines.end() - shown, lines.end()), " / ");
  return ended;
}

// The trials get no settings of this process, nor its rank if a launcher started it.
Environment for_trials(const Environment& given) {
  Environment environment = without_membership(given);
  std::erase_if(environment, [](const auto& variable) {
    return variable.first.starts_with("RUNNER_") && variable.first != "RUNNER_PLUGIN_PATH";
  });
  return environment;
}

}  // namespace

Trials::Trials(const Environment& environment)
    : scratch_(RunFolder::make_temporary()), environment_(for_trials(environment)) {
  scratch_.write("tiny.toml", tiny_recipe);
}

Trials::Outcome Trials::train(const std::string& name, const std::vector<std::string>& command,
                              const std::vector<std::string>& overrides) const {
  const fs::path folder = scratch_.file(name);
  std::vector<std::string> words = command;
  words.push_back(scratch_.file("tiny.toml").string());
  words.push_back("run.dir=" + folder.string());
  words.insert(words.end(), overrides.begin(), overrides.end());
  const Ended ended = run_program(std::move(words), environment_);
  Outcome outcome;
  if (!ended.status) {
    outcome.problem = "did not end within two minutes: " + ended.last_lines;
    outcome.remedy =
        "check whether other programs keep this machine busy, and whether a firewall or sandbox blocks "
        "loopback";
    return outcome;
  }
  if (exit_code_of(*ended.status) != 0) {
    outcome.problem = describe_wait_status(*ended.status) + ": " + ended.last_lines;
    const bool illegal = exit_code_of(*ended.status) == 128 + SIGILL;
    outcome.remedy = illegal ? "this CPU lacks instructions that it advertises: set ONEDNN_MAX_CPU_ISA=AVX2"
                             : "follow the error message";
    return outcome;
  }
  MetricsFile(folder / "metrics.jsonl").read([&](const Record& record) {
    for (const auto& [key, value] : record.values)
      if (key == "train/loss" || key == "eval/loss") outcome.losses.push_back(value);
  });
  const bool finite = std::ranges::all_of(outcome.losses, [](double loss) { return std::isfinite(loss); });
  if (outcome.losses.empty() || !finite) {
    outcome.problem = outcome.losses.empty() ? "no loss was recorded" : "the loss is not finite";
    outcome.remedy =
        "this machine computes wrong results, or a library does not suit it: compare `runner env`";
  }
  return outcome;
}

Finding Trials::compared(std::string what, const Outcome& outcome, const Outcome& expected,
                         double tolerance) const {
  Finding finding{std::move(what), Finding::Verdict::problem, outcome.problem, outcome.remedy};
  if (!outcome.problem.empty()) return finding;
  if (!expected.problem.empty()) {
    finding.detail = "cannot be compared: one rank does not train";
    finding.remedy = "fix \"training\" first";
    return finding;
  }
  double largest = outcome.losses.size() == expected.losses.size() ? 0 : 1;
  for (std::size_t i = 0; i < std::min(outcome.losses.size(), expected.losses.size()); ++i)
    largest = std::max(largest, std::abs(outcome.losses[i] / expected.losses[i] - 1));
  finding.detail =
      log::format("loss {}, {} expected", measured(outcome.losses.back()), measured(expected.losses.back()));
  if (largest <= tolerance) {
    finding.verdict = Finding::Verdict::ok;
    return finding;
  }
  finding.detail += log::format("; they differ by up to {} %, and {} % is allowed", measured(100 * largest),
                                measured(100 * tolerance));
  finding.remedy = "this machine computes wrong results, or a library does not suit it: compare `runner env`";
  return finding;
}

Finding Trials::one_rank() {
  reference_ = train("one", {"run"}, {});
  Finding finding{"training", Finding::Verdict::problem, reference_.problem, reference_.remedy};
  if (!reference_.problem.empty()) return finding;
  return {"training", Finding::Verdict::ok,
          log::format("a tiny model, loss {}", measured(reference_.losses.back()))};
}

Finding Trials::precision(const std::string& name) {
  constexpr double tolerance = 0.02;
  Finding finding =
      compared("precision " + name, train(name, {"run"}, {"precision=" + name}), reference_, tolerance);
  if (finding.verdict == Finding::Verdict::problem && finding.remedy.starts_with("this CPU"))
    finding.remedy += ", or use another precision";
  return finding;
}

void Trials::on_gpus(const std::function<void(const Finding&)>& found) {
  const torch::Device device = resolve_device("auto");
  if (device.is_cpu())
    return found({"GPUs", Finding::Verdict::problem, "none that LibTorch can use",
                  "run it on a machine with one, with a CUDA build of LibTorch: docs/gpu.md"});
  constexpr double rounding = 1e-3, after_training = 0.05;
  const auto same = [&](const std::string& what, const std::vector<std::string>& settings) {
    found(compared(what, train(what, {"run"}, settings), reference_, rounding));
  };
  same("CPU", {"run.device=cpu"});
  same("deterministic", {"run.deterministic=true"});
  same("graphs", {"train.cuda_graphs=true"});
  for (const std::string model : {"simple_cnn", "resnet20", "mobilenet_v2", "vit"}) {
    std::vector<std::string> settings{"model.name=" + model, "dataset.name=shapes", "optimizer.lr=0.001"};
    if (model == "vit")
      settings.insert(settings.end(), {"model.layers=2", "model.width=32", "model.heads=2", "model.patch=8"});
    const Outcome there = train(model, {"run"}, settings);
    settings.emplace_back("run.device=cpu");
    found(compared("model " + model, there, train(model + " on the CPU", {"run"}, settings), after_training));
  }
  for (const auto& [name, type] : {std::pair{"fp32", torch::kFloat32}, std::pair{"bf16", torch::kBFloat16}})
    found({log::format("speed {}", name), Finding::Verdict::ok,
           log::format("matrix products reach {} GFLOP/s on {}",
                       std::llround(measure_matmul_peak(device, type) / 1e9), device.str())});
  const int gpus = usable_devices(device.type());
  if (gpus < 2)
    return found({"ranks on GPUs", Finding::Verdict::note, "one GPU: nothing is exchanged between several"});
  const std::string ranks = std::to_string(gpus);
  for (const std::string strategy : {"ddp", "zero1", "zero2", "zero3"}) {
    const std::string what = strategy + ", " + ranks + " GPUs";
    found(compared(what, train(strategy, {"launch", "-n", ranks}, {"distributed.strategy=" + strategy}),
                   reference_, rounding));
  }
}

Finding Trials::two_ranks() {
  // Each rank needs a GPU of its own.
  constexpr int ranks = 2;
  const torch::Device here = resolve_device("auto");
  const int gpus = here.is_cuda() ? usable_devices(here.type()) : 0;
  const std::vector<std::string> device{gpus >= ranks ? "run.device=auto" : "run.device=cpu"};
  const Outcome one = gpus > 0 && gpus < ranks ? train("one on a CPU", {"run"}, device) : reference_;
  constexpr double tolerance = 1e-4;
  return compared("two ranks", train("two", {"launch", "-n", std::to_string(ranks)}, device), one, tolerance);
}

}  // namespace runner
