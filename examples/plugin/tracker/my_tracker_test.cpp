// Run by ctest: lets the tracker write records, resumes the run, and reads the file.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "components/trackers/tracker.hpp"
#include "registry/make_part.hpp"

namespace {

using namespace runner;

void log_steps(std::int64_t first, std::int64_t last, std::optional<std::int64_t> resumed_at) {
  const Registry registry = Registry::of_linked();
  const auto tracker =
      make_part<TrackerKind>(registry, "my_tracker", {{"file", "my_tracker_test.txt"}}).build({"."});
  RunFacts facts{"a run", ".", "", {}};
  facts.resumed_at = resumed_at;
  tracker->start(facts);
  for (std::int64_t step = first; step <= last; ++step)
    tracker->log({.step = step, .values = {{"train/loss", 0.5}}});
  tracker->finish({Outcome::finished});
}

}  // namespace

int main() {
  std::filesystem::remove("my_tracker_test.txt");
  log_steps(1, 3, {});
  log_steps(2, 2, 1);
  std::ostringstream written;
  written << std::ifstream("my_tracker_test.txt").rdbuf();
  if (written.str() != "1 train/loss=0.5\n2 train/loss=0.5\n") {
    std::cerr << "written was:\n" << written.str();
    return 1;
  }
}
