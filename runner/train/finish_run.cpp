#include "runner/train/finish_run.hpp"

#include <functional>
#include <nlohmann/json.hpp>

#include "registry/base/log.hpp"
#include "registry/files/read_json.hpp"
#include "runner/process/failure.hpp"
#include "runner/runs/report/run_report.hpp"
#include "runner/train/kept_weights.hpp"
#include "runner/train/run_summary.hpp"

namespace runner {

namespace {

// result.json and report.html.
RunResult write_result(RunResult result, const RunFolder& folder) {
  if (folder.temporary()) {
    result.files.clear();
    return result;
  }
  if (result.best) result.files.emplace_back("best model", folder.file("best.safetensors"));
  result.files.emplace_back("metrics", folder.file("metrics.jsonl"));
  folder.write("result.json", result_json(result, folder.path()));
  if (leave_report(folder.path())) result.files.emplace_back("report", folder.file("report.html"));
  return result;
}

void send_artifacts(const Run& run, const RunFolder& folder, Trackers& trackers) {
  if (folder.temporary()) return;
  const char* model = run.best && run.best->best() ? "best.safetensors" : "model.safetensors";
  for (const char* name : {model, "report.html"}) trackers.artifact(name, folder.file(name));
}

void close(const RunResult& result, const Journal& journal, Console& console) {
  console.closing(closing_of(result, journal));
  log::close_files();
}

// Runs one step of reporting a failure: an error in it must not hide the failure itself.
void attempt(const std::function<void()>& step) noexcept {
  try {
    try {
      step();
    } catch (const std::exception& second) {
      log::error("Could not record the failure: {}", second.what());
    }
  } catch (...) {
    // Nothing is left to report it with.
    return;
  }
}

void write_failed_start(const std::string& message, const RunFolder& folder) {
  auto earlier = read_ordered_json_file_or_null(folder.file("result.json"));
  if (earlier.is_object()) {
    earlier["outcome"] = name_of(Outcome::failed);
    earlier["message"] = message;
    using Json = nlohmann::ordered_json;
    folder.write("result.json", earlier.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
  } else {
    RunResult result;
    result.outcome = Outcome::failed;
    result.message = message;
    result.warnings = log::warnings();
    result.versions = versions_and_threads();
    folder.write("result.json", result_json(result, folder.path()));
  }
}

}  // namespace

std::vector<std::pair<std::string, std::filesystem::path>> save_all_weights(Run& run,
                                                                            const RunFolder& folder) {
  std::vector<std::pair<std::string, std::filesystem::path>> files;
  if (run.recipe.train.on_divergence == OnDivergence::stop &&
      !run.divergence.weights_are_finite(run.engine)) {
    log::error("The weights contain NaN or infinity; model.safetensors is not written.");
  } else {
    files.emplace_back("model", folder.file("model.safetensors"));
    save_run_weights(run, "eval", files.back().second);
  }
  for (const KeptWeights* weights : kept_weights(run)) {
    if (weights->tensors.empty()) {
      log::warning("Hook \"{}\" has no weights to save: the run ended before it began.", weights->name);
      continue;
    }
    files.emplace_back(weights->name + " model", folder.file(weights->name + ".safetensors"));
    save_run_weights(run, weights->name, files.back().second);
  }
  return files;
}

RunResult finish_run(const ReportedRun& reported, const TrainingEnd& end) {
  const auto& [run, journal, trackers, console, folder] = reported;
  auto files = save_all_weights(run, folder);
  RunResult result = result_of(run, journal);
  result.outcome = end.outcome;
  result.message = end.reason;
  result.signal = end.signal;
  result.files = std::move(files);
  trackers.flush();  // the report reads metrics.jsonl
  RunResult written = write_result(result, folder);
  send_artifacts(run, folder, trackers);
  trackers.finish(end.outcome, end.reason);
  written.warnings = log::warnings();  // including those of trackers that could not send everything
  close(written, journal, console);
  return result;
}

void fail_start(const RunFolder& folder, const std::exception& error, bool refused) {
  std::string message;
  attempt([&] { message = failure_text(error); });
  attempt([&] { log::write_to_files("error: " + message); });
  if (!refused && !folder.temporary()) attempt([&] { write_failed_start(message, folder); });
  attempt([] { log::close_files(); });
}

void fail_run(const ReportedRun& reported, const std::exception& error) {
  const auto& [run, journal, trackers, console, folder] = reported;
  RunResult result;
  attempt([&] { result = result_of(run, journal); });
  result.outcome = Outcome::failed;
  attempt([&] { result.message = failure_text(error); });
  attempt([&] { log::write_to_files("error: " + result.message); });
  attempt([&] { trackers.flush(); });  // the report reads metrics.jsonl
  attempt([&] { result = write_result(result, folder); });
  attempt([&] { trackers.finish(Outcome::failed, result.message); });
  attempt([&] { close(result, journal, console); });
}

}  // namespace runner
