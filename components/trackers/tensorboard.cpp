#include <algorithm>
#include <string>

#include "components/trackers/place.hpp"
#include "components/trackers/tensorboard_writer.hpp"
#include "components/trackers/tracker.hpp"
#include "registry/base/utf8.hpp"
#include "registry/files/sha256.hpp"

namespace runner {
namespace {

struct TensorBoard {
  std::vector<std::string> metrics;
};
constexpr auto describe(std::type_identity<TensorBoard>) {
  return fields(field("metrics", &TensorBoard::metrics,
                      "The columns of the HPARAMS page: \"eval/accuracy\". Empty: all metrics and the "
                      "settings of all runs, which is better for comparing runs of different kinds."));
}

// Markdown shows indented lines verbatim.
std::string as_code(std::string_view text) {
  std::string code = "    ";
  for (const char c : text) c == '\n' ? code += "\n    " : code += c;
  return code;
}

class Events : public Tracker {
 public:
  Events(std::filesystem::path folder, std::vector<std::string> metrics)
      : folder_(std::move(folder)), metrics_(std::move(metrics)) {}

  void start(const RunFacts& facts) override {
    const std::string suffix = suffix_of(facts);
    const Files earlier = suffix.empty() ? Files{} : TensorBoardWriter::files(folder_, suffix);
    const bool is_new = !std::filesystem::exists(folder_) || std::filesystem::is_empty(folder_);
    // Its name follows those of all files that readers may know, also of those that are removed.
    writer_ = std::make_unique<TensorBoardWriter>(folder_, suffix);
    const bool described = facts.resumed_at && discard_later(earlier, facts);
    if (is_new || facts.starts_over())
      writer_->start_session(0);
    else if (facts.resumed_at)
      writer_->start_session(*facts.resumed_at + 1);
    recipe_ = sha256_hex(facts.recipe);
    if (!described || place_text(facts, "recipe") != recipe_) describe_run(facts);
    writer_->flush();
  }

  void log(const Record& record) override {
    for (const auto& [name, value] : record.values)
      writer_->add_scalar(name, record.step, value, record.wall_time);
  }

  void text(std::string_view tag, std::string_view text, std::int64_t step) override {
    const bool table = text.find('\n') != std::string_view::npos;  // Markdown would join its lines
    writer_->add_text(tag, step, table ? as_code(text) : std::string(text));
  }

  void histogram(std::string_view tag, const Histogram& histogram, std::int64_t step) override {
    writer_->add_histogram(tag, step, histogram);
  }

  void image(std::string_view tag, const Picture& image, std::int64_t step) override {
    constexpr int rgb = 3;
    writer_->add_image(tag, step, image.png, static_cast<int>(image.height), static_cast<int>(image.width),
                       rgb);
  }

  void flush() override { writer_->flush(); }

  std::optional<RecordedPoints> points(const RunFacts& facts,
                                       const std::vector<std::string>& metrics) override {
    RecordedPoints by_tag, found;
    for (const auto& file : TensorBoardWriter::files(folder_, suffix_of(facts)))
      TensorBoardWriter::read_scalars(
          file, [&](const std::string& tag, std::int64_t step) { ++by_tag[tag][step]; });
    for (const std::string& metric : metrics) found[metric] = by_tag[valid_utf8(metric)];
    return found;
  }

  // The recipe is not written again as long as it does not change.
  State place() const override {
    return {.integers = {{"size", writer_->size()}},
            .texts = {{"file", writer_->path().filename().string()}, {"recipe", recipe_}}};
  }

  void finish(const RunEnd& end) override {
    using Status = TensorBoardWriter::Status;
    writer_->end_session(ended_well(end.outcome) ? Status::success : Status::failure, end.wall_time);
    if (!end.message.empty()) writer_->add_text("end of the run", 0, end.message);
    writer_->flush();
  }

 private:
  using Files = std::vector<std::filesystem::path>;

  // The id distinguishes the files of this run from others in the same folder.
  static std::string suffix_of(const RunFacts& facts) { return facts.id.empty() ? "" : "." + facts.id; }

  // Removes from the files of earlier attempts what came after the checkpoint, or, if its place in them is
  // unknown, only the end of the session: then readers discard later steps. Returns whether it is known.
  static bool discard_later(const Files& files, const RunFacts& facts) {
    const std::string last = place_text(facts, "file");
    const auto size = static_cast<std::uintmax_t>(place_integer(facts, "size").value_or(0));
    const bool known = std::ranges::any_of(files, [&](const std::filesystem::path& file) {
      return file.filename() == last && std::filesystem::file_size(file) >= size;
    });
    for (const auto& file : files) {
      const std::string name = file.filename().string();
      if (facts.starts_over() || (known && name > last))
        std::filesystem::remove(file);
      else if (known && name == last)
        std::filesystem::resize_file(file, size);
      else
        TensorBoardWriter::cut_end(file);
    }
    return known;
  }

  void describe_run(const RunFacts& facts) {
    const std::int64_t step = std::max<std::int64_t>(facts.resumed_at.value_or(0), 0);
    if (!facts.recipe.empty()) writer_->add_text("recipe", step, as_code(facts.recipe));
    if (!facts.settings.empty()) writer_->add_hparams(facts.settings, metrics_);
  }

  std::filesystem::path folder_;
  std::vector<std::string> metrics_;
  std::unique_ptr<TensorBoardWriter> writer_;
  std::string recipe_;  // its digest
};

TrackerFacts facts(const TensorBoard&) { return {.images = true, .writes_files = true}; }

std::unique_ptr<Tracker> build(const TensorBoard& settings, const TrackerInputs& inputs) {
  return std::make_unique<Events>(inputs.folder_or("tensorboard"), settings.metrics);
}

const Registration<TrackerKind> registration{
    "tensorboard",
    "TensorBoard event file: scalars, text, images, histograms, and the recipe's settings as hparams.",
    &build};

}  // namespace
}  // namespace runner
