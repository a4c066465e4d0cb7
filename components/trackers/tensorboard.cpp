#include <string>

#include "components/trackers/support/tensorboard_writer.hpp"
#include "components/trackers/tracker.hpp"

namespace runner {
namespace {

struct TensorBoard {
  std::filesystem::path dir = "tensorboard";
};
constexpr auto describe(std::type_identity<TensorBoard>) {
  return fields(field("dir", &TensorBoard::dir, "Where the event file goes; relative to the run folder.",
                      non_empty(), in_run_folder()));
}

// Markdown shows indented lines as they are.
std::string as_code(std::string_view text) {
  std::string code = "    ";
  for (const char c : text) c == '\n' ? code += "\n    " : code += c;
  return code;
}

class Events : public Tracker {
 public:
  explicit Events(std::filesystem::path folder) : folder_(std::move(folder)) {}

  void start(const RunFacts& facts) override {
    writer_ = std::make_unique<TensorBoardWriter>(folder_);
    if (!facts.recipe.empty()) writer_->add_text("recipe", 0, as_code(facts.recipe));
    if (!facts.settings.empty()) writer_->add_hparams(facts.settings);
    writer_->flush();
  }

  void log(const Record& record) override {
    for (const auto& [name, value] : record.values) writer_->add_scalar(name, record.step, value);
  }

  void text(std::string_view tag, std::string_view text, std::int64_t step) override {
    const bool table = text.find('\n') != std::string_view::npos;  // Markdown would run its lines together
    writer_->add_text(tag, step, table ? as_code(text) : std::string(text));
  }

  void histogram(std::string_view tag, const Histogram& histogram, std::int64_t step) override {
    writer_->add_histogram(tag, step, histogram);
  }

  void flush() override { writer_->flush(); }

  void finish(Outcome outcome) override {
    using Status = TensorBoardWriter::Status;
    writer_->end_session(outcome == Outcome::failed ? Status::failure : Status::success);
    writer_->flush();
  }

 private:
  std::filesystem::path folder_;
  std::unique_ptr<TensorBoardWriter> writer_;
};

std::unique_ptr<Tracker> build(const TensorBoard& params, const TrackerInputs& in) {
  return std::make_unique<Events>(in.folder / params.dir);
}

const Registration<TrackerKind> registration{
    "tensorboard", "TensorBoard event file: scalars, text, histograms, and the recipe's settings as hparams.",
    &build};

}  // namespace
}  // namespace runner
