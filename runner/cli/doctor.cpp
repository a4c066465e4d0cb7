#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>

#include "components/precisions/precision.hpp"
#include "registry/files/atomic_file.hpp"
#include "runner/check/checks.hpp"
#include "runner/check/trials.hpp"
#include "runner/cli/commands.hpp"
#include "runner/cli/problem.hpp"
#include "runner/describe/json.hpp"
#include "runner/engine/runtime/process.hpp"
#include "runner/process/version.hpp"
#include "runner/recipe/recipe.hpp"
#include "runner/resolve/resolve.hpp"
#include "runner/terminal/text.hpp"

namespace runner::cli {

namespace {

using Verdict = Finding::Verdict;

constexpr std::string_view name_of(Verdict verdict) {
  return verdict == Verdict::ok ? "ok" : verdict == Verdict::note ? "note" : "problem";
}

// Prints each finding at once: some checks take a second.
class FindingsReport {
 public:
  FindingsReport(bool as_json, Session& session) : as_json_(as_json), session_(session) {}

  void add(const Finding& finding) {
    problems_ += finding.verdict == Verdict::problem ? 1 : 0;
    checks_.push_back({{"check", finding.what},
                       {"state", name_of(finding.verdict)},
                       {"detail", finding.detail},
                       {"remedy", finding.remedy}});
    if (as_json_) return;
    constexpr std::size_t verdict_width = 9, what_width = 18, width = 110;
    const Style& style = session_.out_style;
    const std::string verdict(name_of(finding.verdict));
    const std::string coloured = finding.verdict == Verdict::ok     ? style.green(verdict)
                                 : finding.verdict == Verdict::note ? style.yellow(verdict)
                                                                    : style.bold(style.red(verdict));
    const std::string indent(verdict_width + what_width, ' ');
    session_.out << coloured << std::string(verdict_width - verdict.size(), ' ') << finding.what
                 << std::string(what_width - std::min(what_width - 1, finding.what.size()), ' ')
                 << wrapped(finding.detail, width - indent.size(), indent) << "\n";
    if (!finding.remedy.empty())
      session_.out << indent << style.cyan("remedy: ")
                   << wrapped(finding.remedy, width - indent.size() - 8, indent) << "\n";
    session_.out << std::flush;
  }
  void add(const std::vector<Finding>& findings) {
    for (const Finding& finding : findings) add(finding);
  }

  void write(const std::filesystem::path& file) const {
    AtomicFile written(file);
    written.write(dumped({{"runner", version_text}, {"ok", problems_ == 0}, {"checks", checks_}}));
    written.commit();
  }

  int finish() const {
    if (as_json_) session_.out << dumped({{"ok", problems_ == 0}, {"checks", checks_}});
    if (!as_json_ && problems_ == 0) session_.out << "\nThis machine is ready.\n";
    if (!as_json_ && problems_ > 0) session_.out << "\n" << counted(problems_, "problem") << "\n";
    return problems_ == 0 ? Exit::done : Exit::failed;
  }

 private:
  const bool as_json_;
  Session& session_;
  std::size_t problems_ = 0;
  nlohmann::ordered_json checks_ = nlohmann::ordered_json::array();
};

// Comes first: nothing in this process may use instructions that the CPU does not execute.
Finding check_processor() {
  try {
    const std::string limited = steer_around_broken_instructions();
    if (!limited.empty())
      return {"processor", Verdict::note, limited, "none needed: every run does the same"};
    return {"processor", Verdict::ok, "executes the instructions that it advertises"};
  } catch (const std::exception& error) {
    return {"processor", Verdict::problem, error.what(), "use precision=fp32 on this machine"};
  }
}

// Mistakes in the recipe are reported by check_recipe().
std::filesystem::path folder_to_check(const Arguments& arguments, Session& session) {
  if (arguments.has("dir")) return arguments.get("dir");
  constexpr auto usual = "runs";
  if (!arguments.has("RECIPE")) return usual;
  Diagnostics ignored;
  const auto resolved = resolve_recipe(
      {arguments.get("RECIPE"), session.environment, arguments.all("OVERRIDE")}, session.registry, ignored);
  return resolved ? decode_table<Recipe>(*resolved, session.registry).run.dir.value_or(usual) : usual;
}

int doctor(const Arguments& arguments, Session& session) {
  std::optional<Address> rendezvous;
  try {
    if (arguments.has("rendezvous")) rendezvous = parse_address(arguments.get("rendezvous"));
  } catch (const std::invalid_argument& error) {
    return refuse({std::string("--rendezvous: ") + error.what(), {}, "runner doctor --help"}, session);
  }
  const auto sets_folder = [](const std::string& change) { return change.starts_with("run.dir="); };
  if (arguments.has("dir") && std::ranges::any_of(arguments.all("OVERRIDE"), sets_folder))
    return refuse(
        {"--dir and run.dir both name the folder to check: give one of them", {}, "runner doctor --help"},
        session);
  if (arguments.has("gpu") && arguments.has("quick"))
    return refuse({"--gpu trains, which --quick skips: give one of them", {}, "runner doctor --help"},
                  session);
  FindingsReport report(arguments.has("json"), session);
  report.add(check_processor());
  report.add(check_folder(folder_to_check(arguments, session)));
  report.add(check_loopback());
  if (rendezvous) report.add(check_rendezvous(*rendezvous));
  report.add(check_devices());
  if (arguments.has("RECIPE"))
    report.add(check_recipe(arguments.get("RECIPE"), arguments.all("OVERRIDE"), session.environment,
                            session.registry));
  if (arguments.has("quick")) return report.finish();
  std::optional<Trials> trials;
  try {
    trials.emplace(session.environment);
  } catch (const std::exception& error) {
    report.add(
        {"temporary files", Verdict::problem, error.what(), "set TMPDIR to a folder that can be written"});
    return report.finish();
  }
  report.add(trials->one_rank());
  for (const Descriptor* precision : session.registry.of_kind(PrecisionKind::name))
    report.add(trials->precision(std::string(precision->name)));
  report.add(trials->two_ranks());
  if (arguments.has("gpu")) {
    trials->on_gpus([&](const Finding& finding) { report.add(finding); });
    report.write(arguments.get("gpu"));
  }
  return report.finish();
}

}  // namespace

Command doctor_command() {
  return {
      .name = "doctor",
      .summary = "Check that this machine works: precisions, ranks, files, network, GPUs.",
      .arguments = {{"RECIPE", "Also check its plugins and its data.", Argument::Count::optional,
                     Word::recipe},
                    {"OVERRIDE", "Changes to it, as for a run.", Argument::Count::any, Word::override_}},
      .options = {{.name = "dir",
                   .doc = "Folder in which runs will keep their files; default: run.dir of RECIPE, or runs.",
                   .value = "DIR",
                   .word = Word::file},
                  {.name = "rendezvous",
                   .doc = "Also check the address that `runner launch` will get for several machines.",
                   .value = "HOST:PORT"},
                  {.name = "gpu",
                   .doc =
                       "Also try what GPUs do: kernels against the CPU's, graphs, ranks, speed. Writes all "
                       "findings to FILE.",
                   .value = "FILE",
                   .word = Word::file},
                  {.name = "quick", .doc = "Skip the checks that train: precisions and ranks."},
                  {.name = "json", .doc = "The same as JSON, for programs."}},
      .examples = {{"runner doctor", "in a few seconds"},
                   {"runner doctor recipes/cifar10.toml", "with the data of a recipe"},
                   {"runner doctor --gpu gpu.json", "on a machine with GPUs, for a bug report"},
                   {"runner doctor --rendezvous node0:4711", "on every machine, before a run on several"}},
      .run = &doctor,
      .details =
          "Trains a tiny model in each precision and on two ranks, each in its own process, and compares the "
          "losses.\nRemoves all files that it makes.\n"
          "Exit code 0: no problem; 1: there is a problem; 2: something is wrong with the command line."};
}

}  // namespace runner::cli
