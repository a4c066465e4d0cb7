// A tracker whose server may be away.
#pragma once

#include <atomic>
#include <numeric>

#include "tests/support/recorded_trackers.hpp"

namespace runner::testing::trackers {

// Keeps what it was sent, and counts how often it was asked in vain.
struct RemoteServer {
  std::atomic<bool> up = true;
  std::atomic<int> asked_in_vain = 0;
  std::vector<std::int64_t> steps;
  std::vector<std::filesystem::path> files;
  std::string order;
  double end = 0;
};
struct RemoteTracker : Tracker {
  explicit RemoteTracker(RemoteServer& server_) : server(server_) {}
  void ask() const {
    if (server.up) return;
    ++server.asked_in_vain;
    throw TrackerUnavailable("No answer.");
  }
  State save() const override { return {.texts = {{"run", id}}}; }
  void load(const State& state) override { id = StateReader(state).text("run"); }
  void start(const RunFacts& facts) override {
    ask();
    if (id.empty()) id = facts.id;
    server.order += "start";
  }
  void log(const Record& record) override { waiting.push_back(record.step); }
  void artifact(std::string_view, const std::filesystem::path& file) override {
    ask();
    server.files.push_back(file);
  }
  void flush() override {
    ask();
    server.steps.insert(server.steps.end(), waiting.begin(), waiting.end());
    waiting.clear();
  }
  void finish(const RunEnd& end) override {
    flush();
    server.order += end.outcome == Outcome::finished ? ", finished" : ", failed";
    server.end = end.wall_time;
  }
  RemoteServer& server;
  std::string id;
  std::vector<std::int64_t> waiting;
};

inline std::vector<std::int64_t> steps_to(std::int64_t last) {
  std::vector<std::int64_t> steps(static_cast<std::size_t>(last));
  std::iota(steps.begin(), steps.end(), 1);
  return steps;
}

}  // namespace runner::testing::trackers
