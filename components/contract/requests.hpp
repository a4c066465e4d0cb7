#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "components/contract/histogram.hpp"
#include "components/contract/progress.hpp"
#include "components/contract/state.hpp"

namespace runner {

// Text for the log and the trackers. A curve is drawn above it.
struct Note {
  std::string tag;
  std::string text;
  std::vector<std::pair<double, double>> curve = {};  // x ascending
  std::string x_label = {};
};

// Parameters to train, or to freeze, from now on. A parameter stays frozen as long as any holder wants it to
// be.
struct Trainability {
  std::string pattern;
  bool trained = true;
  std::string holder = {};
};

// The requests of hooks to the training loop, which carries them out. Those that it has not carried out yet
// are part of a checkpoint: values for the next record, requests for the next update, and a stop.
class Requests final : public Stateful {
 public:
  void stop(std::string reason) {  // after this step; the first reason counts
    if (!reason_) reason_ = std::move(reason);
  }
  // Ends this process after this step as SIGTERM does: the run is saved, and the same command continues it.
  void interrupt(std::string reason) {
    if (!interrupt_reason_) interrupt_reason_ = std::move(reason);
  }
  void skip_update() { skip_ = true; }
  void learning_rate(double rate) { rate_ = rate; }  // of the next update, instead of the schedule's
  // `holder` says who asks: the same text in every attempt, and another one for hooks that may disagree. A
  // resumed run remembers what was frozen, unless its recipe has changed: a hook asks again in start().
  void train_parameters(std::string pattern, bool on, std::string holder = {}) {
    trainability_.push_back({std::move(pattern), on, std::move(holder)});
  }
  // Adds the value to the next record of the run. If a name is logged twice before that, the later value
  // counts.
  void log(std::string name, double value) {
    const auto known = std::ranges::find(measurements_, name, [](const auto& pair) { return pair.first; });
    if (known != measurements_.end()) known->second = value;
    if (known == measurements_.end()) measurements_.emplace_back(std::move(name), value);
  }
  void note(Note note) { notes_.push_back(std::move(note)); }
  void checkpoint() { checkpoint_ = true; }  // after this step
  void histogram(std::string tag, Histogram histogram) {
    histograms_.emplace_back(std::move(tag), std::move(histogram));
  }

  const std::optional<std::string>& stop_reason() const { return reason_; }
  const std::optional<std::string>& interrupt_reason() const { return interrupt_reason_; }
  void forget_stop() { reason_.reset(); }  // a run that was stopped continues
  bool take_checkpoint() { return std::exchange(checkpoint_, false); }
  bool take_skip() { return std::exchange(skip_, false); }
  std::optional<double> take_learning_rate() { return std::exchange(rate_, std::nullopt); }
  std::vector<Trainability> take_trainability() { return std::exchange(trainability_, {}); }
  Measurements take_measurements() { return std::exchange(measurements_, {}); }
  std::vector<Note> take_notes() { return std::exchange(notes_, {}); }
  std::vector<std::pair<std::string, Histogram>> take_histograms() { return std::exchange(histograms_, {}); }

  State save() const override;
  void load(const State& state) override;

 private:
  std::optional<std::string> reason_;
  std::optional<std::string> interrupt_reason_;  // concerns only this process: not saved
  bool checkpoint_ = false;
  bool skip_ = false;
  std::optional<double> rate_;
  std::vector<Trainability> trainability_;
  Measurements measurements_;
  std::vector<Note> notes_;
  std::vector<std::pair<std::string, Histogram>> histograms_;
};

}  // namespace runner
