// A tracker of your own: a line of text for every record. Its functions run on a thread of their own.
#include <fstream>

#include "components/trackers/tracker.hpp"

namespace {

using namespace runner;

struct MyTracker {
  std::string file = "measurements.txt";
};

constexpr auto describe(std::type_identity<MyTracker>) {
  return fields(field("file", &MyTracker::file, "The file; relative to logging_dir, or to the run folder.",
                      non_empty()));
}

class MyTrackerFile final : public Tracker {
 public:
  explicit MyTrackerFile(std::filesystem::path path) : path_(std::move(path)) {}

  // What is thrown switches the tracker off with a warning; the run continues.
  void start(const RunFacts& facts) override {
    const std::string lines = lines_to_keep(facts);
    out_.open(path_);
    if (!out_) throw std::runtime_error("Cannot write " + path_.string() + ".");
    out_ << lines;
  }
  void log(const Record& record) override {
    out_ << record.step;
    for (const auto& [name, value] : record.values) out_ << " " << name << "=" << value;
    out_ << "\n";
  }
  void flush() override { out_.flush(); }
  void finish(const RunEnd& end) override {
    if (end.outcome == Outcome::failed) out_ << "# failed: " << end.message << "\n";
    out_.flush();
  }

 private:
  // A resumed run logs the steps after its checkpoint again.
  std::string lines_to_keep(const RunFacts& facts) const {
    std::ifstream earlier(path_);
    std::string kept;
    for (std::string line; std::getline(earlier, line);) {
      if (!line.starts_with("#") && facts.keeps(std::stoll(line))) kept += line + "\n";
    }
    return kept;
  }

  std::filesystem::path path_;
  std::ofstream out_;
};

TrackerFacts facts(const MyTracker&) { return {.writes_files = true}; }  // so logging_dir applies

std::unique_ptr<Tracker> build(const MyTracker& settings, const TrackerInputs& inputs) {
  return std::make_unique<MyTrackerFile>(inputs.folder_or("") / settings.file);
}

const Registration<TrackerKind> registration{"my_tracker", "A line of text for every record.", &build};

}  // namespace
