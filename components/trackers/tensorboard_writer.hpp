#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "components/contract/histogram.hpp"
#include "components/trackers/record_file.hpp"

namespace runner {

// Writes an event file that TensorBoard reads:
//   TensorBoardWriter writer("runs/x/tensorboard");
//   writer.add_scalar("train/loss", 50, 0.25);
//   writer.flush();
// The functions and the order of their arguments are those of the C++ library tensorboard_logger. Invalid
// UTF-8, which TensorBoard rejects, is replaced by U+FFFD. Not thread-safe.
class TensorBoardWriter {
 public:
  using HParams = std::vector<std::pair<std::string, std::variant<bool, std::int64_t, double, std::string>>>;
  enum class Status { success = 1, failure = 2, running = 3 };

  // Creates the folder if necessary, and a new event file in it whose name ends with the suffix.
  explicit TensorBoardWriter(const std::filesystem::path& folder, const std::string& suffix = {});

  // The first call marks the start of the run. At each further one, readers discard earlier events of this
  // step and of later steps.
  void start_session(std::int64_t step);

  void add_scalar(std::string_view tag, std::int64_t step, double value);
  void add_scalar(std::string_view tag, std::int64_t step, double value, double wall_time);
  void add_text(std::string_view tag, std::int64_t step, std::string_view markdown);
  void add_image(std::string_view tag, std::int64_t step, std::string_view encoded_png, int height, int width,
                 int channels);
  // TensorFlow's buckets: 0, and powers of 1.1 from 1e-12 to 1e20 on both sides. Values that are not finite
  // are skipped.
  void add_histogram(std::string_view tag, std::int64_t step, std::span<const double> values);
  void add_histogram(std::string_view tag, std::int64_t step, const Histogram& histogram);

  // The settings of this run, for the HPARAMS page. If no metrics are named, TensorBoard shows all scalars
  // and collects the columns from all runs it finds: the better choice for comparing runs.
  void add_hparams(const HParams& settings, const std::vector<std::string>& metrics = {});
  void end_session(Status status);
  void end_session(Status status, double wall_time);

  void flush() { events_->flush(); }
  const std::filesystem::path& path() const { return events_->path(); }
  std::int64_t size() const { return events_->size(); }  // of the file

  // The event files of earlier writers with this suffix.
  static std::vector<std::filesystem::path> files(const std::filesystem::path& folder,
                                                  const std::string& suffix);
  // The scalars in a file: tag and step of each.
  static void read_scalars(const std::filesystem::path& file,
                           const std::function<void(const std::string& tag, std::int64_t step)>& take);
  // Removes the end of a session, and everything after it, from the file of a run that is resumed, because
  // readers use the first end that they find. Reads only the end of the file.
  static void cut_end(const std::filesystem::path& file);

 private:
  void add_summary(std::int64_t step, std::string_view value, double wall_time);
  void add_summary(std::int64_t step, std::string_view value);  // with the current time
  void add_hparams_data(std::string_view tag, std::string_view content);

  std::unique_ptr<RecordFile> events_;
};

}  // namespace runner
