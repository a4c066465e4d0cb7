// Run by ctest: lets the tracker write a record and reads the file.
#include <fstream>
#include <iostream>
#include <sstream>

#include "components/trackers/tracker.hpp"
#include "registry/make_part.hpp"

int main() {
  using namespace runner;
  const Registry registry = Registry::of_linked();
  const auto tracker =
      make_part<TrackerKind>(registry, "my_tracker", {{"file", "my_tracker_test.txt"}}).build({"."});
  tracker->start({"a run", ".", "", {}});
  tracker->log({.step = 7, .values = {{"train/loss", 0.5}}});
  tracker->finish(Outcome::finished);
  std::ostringstream written;
  written << std::ifstream("my_tracker_test.txt").rdbuf();
  if (written.str() != "run a run\nstep 7  train/loss 0.5\nfinished\n") {
    std::cerr << "written was:\n" << written.str();
    return 1;
  }
}
