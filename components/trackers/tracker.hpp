#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "components/contract/histogram.hpp"
#include "components/contract/outcome.hpp"
#include "components/contract/state.hpp"
#include "registry/component.hpp"

namespace runner {

// What was measured at one moment of the run.
struct Record {
  std::int64_t step = 0;
  double epoch = 0;
  double time = 0;                                          // seconds since the run started
  std::vector<std::pair<std::string, double>> values = {};  // "train/loss", "eval/accuracy" ..
  double wall_time = 0;                                     // seconds since 1970
};

struct Picture {
  std::string png;  // encoded
  std::int64_t height = 0, width = 0;
};

using Setting = std::variant<bool, std::int64_t, double, std::string>;

struct RunFacts {
  std::string name;
  std::filesystem::path folder;
  std::string recipe;                                     // resolved, as TOML, without secrets
  std::vector<std::pair<std::string, Setting>> settings;  // the same, flat: "optimizer.lr"
  std::string id = {};                                    // unique to this run; unchanged by a resume
  std::vector<std::string> tags = {};
  double started_at = 0;  // seconds since 1970, of the first attempt
  // Only in a resumed run: the records up to and including this step are kept; what an earlier attempt logged
  // for later steps is discarded. -1: the earlier attempt left no checkpoint, so the run starts over and
  // nothing is kept.
  std::optional<std::int64_t> resumed_at = {};
  // Of that step, the records up to and including this exact epoch are kept: a skipped update advances the
  // epoch, but not the step.
  double resumed_epoch = std::numeric_limits<double>::infinity();
  // What this tracker's place() was when the checkpoint was taken. Empty: unknown; then only the step and the
  // epoch of a record tell whether it is kept.
  State place = {};

  bool starts_over() const { return resumed_at == -1; }
  // Whether an earlier record stays; if its epoch is not known, by its step alone.
  bool keeps(std::int64_t step) const { return !resumed_at || step <= *resumed_at; }
  bool keeps(std::int64_t step, double epoch) const {
    return keeps(step) && (step != resumed_at || epoch <= resumed_epoch);
  }
};

struct RunEnd {
  Outcome outcome = Outcome::finished;
  std::string message = {};  // why it stopped or failed
  double wall_time = 0;      // seconds since 1970; may be long ago if it is reported later
};

// Thrown if a tracker cannot work at the moment, for example because a server does not answer. The same call
// is repeated later; until then records are kept on disk.
struct TrackerUnavailable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// How many points a metric has at each step.
using RecordedPoints = std::map<std::string, std::map<std::int64_t, std::size_t>>;

// Writes metrics somewhere. All functions are called from the tracker's own thread, so they may be slow and
// need no locks, but they must return. An exception switches this tracker off with a warning, and the run
// continues; after TrackerUnavailable the call is repeated.
//
// The state identifies this run elsewhere, for example by the id that a server assigned. A process that
// resumes the run calls load() before start(). The state may hold only texts, integers and numbers.
class Tracker : public Stateful {
 public:
  virtual void start(const RunFacts& /*facts*/) {}
  virtual void log(const Record& record) = 0;
  virtual void text(std::string_view /*tag*/, std::string_view /*text*/, std::int64_t /*step*/) {}
  virtual void image(std::string_view /*tag*/, const Picture& /*image*/, std::int64_t /*step*/) {}
  virtual void histogram(std::string_view /*tag*/, const Histogram& /*histogram*/, std::int64_t /*step*/) {}
  virtual void artifact(std::string_view /*name*/, const std::filesystem::path& /*file*/) {}
  virtual void flush() {}  // writes or sends what earlier calls have buffered
  virtual void finish(const RunEnd& /*end*/) {}
  // Where the output of all earlier calls ends, for example the size of a file; called after flush(). It is
  // saved in checkpoints and may hold only what a state may. A run that is resumed gets it back as
  // RunFacts::place, so that this tracker can discard what comes after it.
  virtual State place() const { return {}; }
  // What is recorded of these metrics, by their own names, before start() or after flush(): `runner track`
  // compares it with metrics.jsonl and logs again what is missing. Nothing: this tracker cannot tell.
  virtual std::optional<RecordedPoints> points(const RunFacts& /*facts*/,
                                               const std::vector<std::string>& /*metrics*/) {
    return std::nullopt;
  }
  // The run has ended: a request to a server, also the one under way, must not take longer than this from now
  // on. The only function that is called from another thread.
  virtual void hurry(double /*seconds*/) {}
};

struct TrackerInputs {
  std::filesystem::path folder;                           // of the run
  std::optional<std::filesystem::path> logging_dir = {};  // the recipe's; relative to the run folder
  int rank = 0;

  // The folder for the tracker's files: the recipe's logging_dir, or by default `usual` in the run folder.
  std::filesystem::path folder_or(const std::filesystem::path& usual) const {
    return folder / logging_dir.value_or(usual);
  }
};

// Where a tracker sends what it gets, and which secrets go along. A server that only the recipe names gets no
// secrets: a recipe may come from anywhere.
struct Destination {
  std::string server = {};                // its address; empty: nothing leaves this machine
  std::string setting = {};               // which names it, such as "url"; empty: the user's environment does
  std::string named_by = {};              // otherwise: "MLFLOW_TRACKING_URI", "`wandb login`"
  std::vector<std::string> secrets = {};  // where they come from: "MLFLOW_TRACKING_TOKEN"
  std::string secret_file = {};           // the setting that names a file whose content is sent: "token_file"
};

// What is known of a tracker before it is built.
struct TrackerFacts {
  bool remote = false;        // sends to a server; its data is written to disk first
  bool every_rank = false;    // runs on every rank, not only on the main one
  bool images = false;        // shows images
  bool writes_files = false;  // logging_dir applies
  Destination destination = {};
};

struct TrackerCommon {
  std::optional<std::filesystem::path> logging_dir = {};
};
constexpr auto describe(std::type_identity<TrackerCommon>) {
  return fields(
      field("logging_dir", &TrackerCommon::logging_dir,
            "Folder for the files of this tracker; relative to the run folder, and by default inside it.",
            non_empty(), in_run_folder()));
}

struct TrackerKind {
  static constexpr std::string_view name = "tracker";
  static constexpr std::string_view summary = "Where metrics are written.";
  static constexpr KindOnResume on_resume{.part = OnResume::harmless, .parameters = OnResume::harmless};
  using Product = Tracker;
  using Inputs = TrackerInputs;
  using Common = TrackerCommon;
  using Facts = TrackerFacts;
};

}  // namespace runner
