#include "runner/train/journal.hpp"

#include "registry/base/log.hpp"
#include "runner/terminal/lines.hpp"
#include "runner/terminal/plot.hpp"

namespace runner {

namespace {

// The curve is drawn in a terminal and saved in every checkpoint, so a few thousand points are enough: the
// first 4096 points are averaged in pairs.
void thin(std::vector<std::pair<double, double>>& curve) {
  constexpr std::size_t most_points = 4096;
  if (curve.size() <= most_points) return;
  for (std::size_t i = 0; i < most_points / 2; ++i)
    curve[i] = {curve[2 * i + 1].first, (curve[2 * i].second + curve[2 * i + 1].second) / 2};
  curve.erase(curve.begin() + most_points / 2, curve.begin() + most_points);
}

}  // namespace

void Journal::step(const Progress& progress, const StepReport& report) {
  last_ = report;
  // The loss that is logged is that of the updates: an update is skipped because its loss or gradients are of
  // no use.
  if (report.updated) training_loss_.add(report.loss);
  examples_ += report.examples;
  ProgressLine line;
  line.step = progress.step;
  line.total_steps = plan_.total_steps.value_or(0);
  line.epoch = progress.exact_epoch;
  line.epochs = epochs_;
  line.share = progress.share;
  line.seconds = progress.seconds;
  line.lr = report.lr;
  line.examples_per_second = examples_per_second_;
  const bool last = plan_.reached(progress);
  if (console_.progress_due() || last) line.loss = report.loss.mean();
  console_.progress(line);
}

void Journal::training(const Progress& progress, const Measurements& precision, const Measurements& hooks) {
  const std::optional<double> loss = training_loss_.take();
  const double seconds = progress.seconds - training_seconds_ - evaluation_seconds_;
  examples_per_second_ = seconds > 0 ? static_cast<double>(examples_) / seconds : 0;
  Measurements values;
  if (loss) values.emplace_back("train/loss", *loss);
  values.emplace_back("train/lr", last_.lr);
  for (const GroupRule& group : groups_) {
    if (group.lr_multiplier != 1)
      values.emplace_back("train/lr/" + group.match, last_.lr * group.lr_multiplier);
  }
  if (last_.gradient_norm.defined())
    values.emplace_back("train/grad_norm", last_.gradient_norm.item<double>());
  if (progress.skipped_steps > 0)
    values.emplace_back("train/skipped_steps", static_cast<double>(progress.skipped_steps));
  for (const auto& [name, value] : precision) values.emplace_back("train/" + name, value);
  values.insert(values.end(), hooks.begin(), hooks.end());
  record(progress, std::move(values));
  if (loss) loss_curve_.emplace_back(static_cast<double>(progress.step), *loss);
  thin(loss_curve_);
  examples_ = 0;
  training_seconds_ = progress.seconds;
  evaluation_seconds_ = 0;
}

void Journal::evaluation(const Progress& progress, const Evaluation& evaluation, double seconds, bool best) {
  evaluation_seconds_ += seconds;
  last_evaluation_ = evaluation.measurements;
  evaluated_at_ = progress.examples;
  record(progress, evaluation.measurements);
  const EvalLine line{progress.step, progress.exact_epoch, evaluation.measurements, seconds, best};
  console_.evaluation(line);
  log::write_to_files(evaluation_text(line, {}));
  for (const auto& [tag, words] : evaluation.texts) text(progress, tag, words);
}

void Journal::measurements(const Progress& progress, Measurements values) {
  if (!values.empty()) record(progress, std::move(values));
}

void Journal::note(const Progress& progress, const Note& note) {
  PlotOptions options;
  options.x_label = note.x_label;
  text(progress, note.tag, plot(note.curve, options) + note.text);
}

void Journal::histogram(const Progress& progress, std::string tag, Histogram histogram) {
  trackers_.histogram(std::move(tag), std::move(histogram), progress.step);
}

void Journal::text(const Progress& progress, const std::string& tag, const std::string& text) {
  trackers_.text(tag, text, progress.step);
  log::info("{}\n{}", tag, text);
}

State Journal::save() const {
  const auto points = static_cast<std::int64_t>(loss_curve_.size());
  torch::Tensor curve = torch::empty({points, 2}, torch::kFloat64);
  for (std::int64_t i = 0; i < points; ++i) {
    curve.mutable_data_ptr<double>()[2 * i] = loss_curve_[static_cast<std::size_t>(i)].first;
    curve.mutable_data_ptr<double>()[2 * i + 1] = loss_curve_[static_cast<std::size_t>(i)].second;
  }
  State state{.tensors = {{"loss_curve", curve}},
              .integers = {{"examples", examples_}},
              .numbers = {{"training_seconds", training_seconds_},
                          {"evaluation_seconds", evaluation_seconds_},
                          {"examples_per_second", examples_per_second_},
                          {"lr", last_.lr}},
              .parts = {{"training_loss", training_loss_.save()}}};
  if (evaluated_at_) state.integers["evaluated_at"] = *evaluated_at_;
  State& last = state.parts["last_evaluation"];
  for (std::size_t i = 0; i < last_evaluation_.size(); ++i) {  // in the order of the recipe's metrics
    const std::string number = "." + std::to_string(i);
    last.texts["name" + number] = last_evaluation_[i].first;
    last.numbers["value" + number] = last_evaluation_[i].second;
  }
  return state;
}

void Journal::load(const State& state) {
  StateReader saved(state);
  const torch::Tensor curve = saved.tensor("loss_curve").contiguous();
  if (curve.scalar_type() != torch::kFloat64 || curve.dim() != 2 || curve.size(1) != 2)
    throw StateError("loss_curve is not a list of points");
  loss_curve_.clear();
  const double* points = curve.const_data_ptr<double>();
  for (std::int64_t i = 0; i < curve.size(0); ++i) loss_curve_.emplace_back(points[2 * i], points[2 * i + 1]);
  examples_ = saved.integer("examples");
  training_seconds_ = saved.number("training_seconds");
  evaluation_seconds_ = saved.number("evaluation_seconds");
  examples_per_second_ = saved.number("examples_per_second");
  last_.lr = saved.number("lr");
  evaluated_at_ = saved.find_integer("evaluated_at");
  training_loss_.load(saved.part("training_loss"));
  last_evaluation_.clear();
  StateReader last(saved.part("last_evaluation"));
  for (std::size_t i = 0; i < state.parts.at("last_evaluation").numbers.size(); ++i) {
    const std::string number = "." + std::to_string(i);
    last_evaluation_.emplace_back(last.text("name" + number), last.number("value" + number));
  }
  last.finish();
  saved.finish();
}

void Journal::record(const Progress& progress, Measurements values) {
  trackers_.log({progress.step, progress.exact_epoch, progress.seconds, std::move(values)});
}

}  // namespace runner
