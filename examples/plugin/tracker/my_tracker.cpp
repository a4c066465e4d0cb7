// A tracker of your own: a line of text for every record. Its functions run on a thread of their own.
#include <fstream>

#include "components/trackers/tracker.hpp"

namespace {

using namespace runner;

struct MyTracker {
  std::string file = "measurements.txt";
};

constexpr auto describe(std::type_identity<MyTracker>) {
  return fields(field("file", &MyTracker::file, "Its name in the run's folder.", non_empty()));
}

class MyTrackerFile final : public Tracker {
 public:
  explicit MyTrackerFile(const std::filesystem::path& path) : out_(path) {
    // What is thrown switches the tracker off with a warning; the run goes on.
    if (!out_) throw std::runtime_error("cannot write " + path.string());
  }

  void start(const RunFacts& facts) override { out_ << "run " << facts.name << "\n"; }
  void log(const Record& record) override {
    out_ << "step " << record.step;
    for (const auto& [name, value] : record.values) out_ << "  " << name << " " << value;
    out_ << "\n";
  }
  void flush() override { out_.flush(); }
  void finish(Outcome outcome) override {
    out_ << (outcome == Outcome::finished ? "finished\n" : "ended early\n") << std::flush;
  }

 private:
  std::ofstream out_;
};

std::unique_ptr<Tracker> build(const MyTracker& params, const TrackerInputs& inputs) {
  return std::make_unique<MyTrackerFile>(inputs.folder / params.file);
}

const Registration<TrackerKind> registration{"my_tracker", "A line of text for every record.", &build};

}  // namespace
