#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "components/contract/histogram.hpp"
#include "components/trackers/support/record_file.hpp"

namespace runner {

// Writes an event file that TensorBoard reads:
//   TensorBoardWriter writer("runs/x/tensorboard");
//   writer.add_scalar("train/loss", 50, 0.25);
//   writer.flush();
// The functions and their order of arguments are those of the C++ library tensorboard_logger. Text that is
// not UTF-8, which TensorBoard refuses, is repaired with U+FFFD. For one thread.
class TensorBoardWriter {
 public:
  using HParams = std::vector<std::pair<std::string, std::variant<bool, std::int64_t, double, std::string>>>;
  enum class Status { success = 1, failure = 2, running = 3 };

  // Makes the folder where it is missing, and a new event file in it, whose name ends with the suffix.
  explicit TensorBoardWriter(const std::filesystem::path& folder, const std::string& suffix = {});

  // The first one is the start of the run. With a further one, readers forget what was said before about this
  // step and later ones.
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

  // The settings of this run, for the HPARAMS page. Where no metrics are named TensorBoard shows all scalars,
  // and the columns are gathered over all runs it sees: the better choice for runs that are compared.
  void add_hparams(const HParams& settings, const std::vector<std::string>& metrics = {});
  void end_session(Status status);
  void end_session(Status status, double wall_time);

  void flush() { events_->flush(); }
  const std::filesystem::path& path() const { return events_->path(); }

  // The event files of earlier writers with this suffix.
  static std::vector<std::filesystem::path> files(const std::filesystem::path& folder,
                                                  const std::string& suffix);
  // Readers believe the first end of a session that they find: takes back one that was not the end after all,
  // with all that follows it in the file. Reads only the end of the file.
  static void cut_end(const std::filesystem::path& file);

 private:
  void add_summary(std::int64_t step, std::string_view value, double wall_time);
  void add_summary(std::int64_t step, std::string_view value);  // of this moment
  void add_hparams_data(std::string_view tag, std::string_view content);

  std::unique_ptr<RecordFile> events_;
};

}  // namespace runner
