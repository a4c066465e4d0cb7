// Field numbers are those of TensorFlow's event.proto, summary.proto and tensor.proto and of
// plugin_data.proto of TensorBoard's hparams plugin.
#include "components/trackers/tensorboard_writer.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <sstream>

#include <unistd.h>

#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "components/trackers/wall_clock.hpp"
#include "registry/base/utf8.hpp"

namespace runner {
namespace {

using Message = protozero::pbf_writer;
using HParam = TensorBoardWriter::HParams::value_type::second_type;

constexpr std::string_view prefix = "events.out.tfevents.", end_tag = "_hparams_/session_end_info";

// Readers sort the files of a folder by name; the number in a new name must be the largest.
std::int64_t second_for(const std::filesystem::path& folder) {
  auto second = static_cast<std::int64_t>(wall_clock());
  if (!std::filesystem::is_directory(folder)) return second;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    std::int64_t theirs = 0;
    if (!name.starts_with(prefix)) continue;
    std::from_chars(name.data() + prefix.size(), name.data() + name.size(), theirs);
    second = std::max(second, theirs + 1);
  }
  return second;
}

// The pid and a counter make the name unique if two writers start in the same second.
std::string file_name(const std::filesystem::path& folder, const std::string& suffix) {
  static std::atomic<int> count{0};
  char host[256] = "localhost";
  ::gethostname(host, sizeof host - 1);
  return std::string(prefix) + std::to_string(second_for(folder)) + "." + host + "." +
         std::to_string(::getpid()) + "." + std::to_string(count++) + suffix;
}

void add_metadata(Message& value, const char* plugin, std::string_view content) {
  Message metadata(value, 9);
  Message plugin_data(metadata, 1);
  plugin_data.add_string(1, plugin);
  if (!content.empty()) plugin_data.add_bytes(2, content.data(), content.size());
}

void add_tag(Message& value, std::string_view tag) { value.add_string(1, valid_utf8(tag)); }

// google.protobuf.Value
std::string hparam_value(const HParam& setting) {
  std::string bytes;
  Message value(bytes);
  if (const auto* whole = std::get_if<std::int64_t>(&setting))
    value.add_double(2, static_cast<double>(*whole));
  if (const auto* number = std::get_if<double>(&setting)) value.add_double(2, *number);
  if (const auto* text = std::get_if<std::string>(&setting)) value.add_string(3, valid_utf8(*text));
  if (const auto* flag = std::get_if<bool>(&setting)) value.add_bool(4, *flag);
  return bytes;
}

int hparam_type(const HParam& setting) {
  constexpr int text = 1, flag = 2, number = 3;
  if (std::holds_alternative<bool>(setting)) return flag;
  return std::holds_alternative<std::string>(setting) ? text : number;
}

const std::vector<double>& bucket_limits() {
  static const std::vector<double> limits = [] {
    std::vector<double> positive;
    double limit = 1e-12;
    while (limit < 1e20) {
      positive.push_back(limit);
      limit *= 1.1;
    }
    positive.push_back(std::numeric_limits<double>::max());
    std::vector<double> all(positive.rbegin(), positive.rend());
    for (double& each : all) each = -each;
    all.push_back(0);
    all.insert(all.end(), positive.begin(), positive.end());
    return all;
  }();
  return limits;
}

}  // namespace

TensorBoardWriter::TensorBoardWriter(const std::filesystem::path& folder, const std::string& suffix)
    : events_(std::make_unique<RecordFile>(folder / file_name(folder, suffix))) {
  std::string bytes;
  Message event(bytes);
  event.add_double(1, wall_clock());
  event.add_string(3, "brain.Event:2");
  events_->add(bytes);
  flush();
}

void TensorBoardWriter::start_session(std::int64_t step) {
  constexpr int start = 1;
  std::string bytes;
  Message event(bytes);
  event.add_double(1, wall_clock());
  event.add_int64(2, step);
  {
    Message session(event, 7);
    session.add_enum(1, start);
  }
  events_->add(bytes);
}

std::vector<std::filesystem::path> TensorBoardWriter::files(const std::filesystem::path& folder,
                                                            const std::string& suffix) {
  std::vector<std::filesystem::path> found;
  if (!std::filesystem::is_directory(folder)) return found;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(prefix) && name.ends_with(suffix)) found.push_back(entry.path());
  }
  return found;
}

void TensorBoardWriter::cut_end(const std::filesystem::path& file) {
  constexpr std::uint64_t enough = 1 << 20;  // only a message follows the end of a session
  const std::uint64_t size = std::filesystem::file_size(file);
  std::uint64_t offset = size - std::min(size, enough);
  std::ifstream in(file, std::ios::binary);
  in.seekg(static_cast<std::streamoff>(offset));
  std::istringstream tail(std::string{std::istreambuf_iterator<char>(in), {}});
  const auto start = find_record(tail.view());
  if (!start) return;
  tail.seekg(static_cast<std::streamoff>(*start));
  offset += *start;
  while (const auto record = read_record(tail)) {
    if (record->find(end_tag) != std::string::npos) return std::filesystem::resize_file(file, offset);
    offset += record_size(*record);
  }
}

void TensorBoardWriter::read_scalars(
    const std::filesystem::path& file,
    const std::function<void(const std::string& tag, std::int64_t step)>& take) {
  std::ifstream in(file, std::ios::binary);
  while (const auto record = read_record(in)) {
    protozero::pbf_reader event(*record);
    std::int64_t step = 0;
    while (event.next()) {
      if (event.tag() == 2) {
        step = event.get_int64();
      } else if (event.tag() == 5) {
        protozero::pbf_reader summary = event.get_message();
        while (summary.next(1)) {
          protozero::pbf_reader value = summary.get_message();
          std::string tag;
          while (value.next()) {
            if (value.tag() == 1) tag = value.get_string();
            if (value.tag() == 2) take(tag, step);
            if (value.tag() != 1) value.skip();
          }
        }
      } else {
        event.skip();
      }
    }
  }
}

void TensorBoardWriter::add_summary(std::int64_t step, std::string_view value) {
  add_summary(step, value, wall_clock());
}

void TensorBoardWriter::add_summary(std::int64_t step, std::string_view value, double wall_time) {
  std::string bytes;
  Message event(bytes);
  event.add_double(1, wall_time);
  event.add_int64(2, step);
  {
    Message summary(event, 5);
    summary.add_message(1, value.data(), value.size());
  }
  events_->add(bytes);
}

void TensorBoardWriter::add_scalar(std::string_view tag, std::int64_t step, double value) {
  add_scalar(tag, step, value, wall_clock());
}

void TensorBoardWriter::add_scalar(std::string_view tag, std::int64_t step, double number, double wall_time) {
  std::string bytes;
  Message value(bytes);
  add_tag(value, tag);
  value.add_float(2, static_cast<float>(number));
  add_summary(step, bytes, wall_time);
}

void TensorBoardWriter::add_text(std::string_view tag, std::int64_t step, std::string_view markdown) {
  constexpr int dt_string = 7;
  std::string bytes;
  Message value(bytes);
  add_tag(value, std::string(tag) + "/text_summary");
  {
    Message tensor(value, 8);
    tensor.add_enum(1, dt_string);
    {
      Message shape(tensor, 2);
      Message dimension(shape, 2);
      dimension.add_int64(1, 1);
    }
    tensor.add_bytes(8, valid_utf8(markdown));
  }
  add_metadata(value, "text", {});
  add_summary(step, bytes);
}

void TensorBoardWriter::add_image(std::string_view tag, std::int64_t step, std::string_view encoded_png,
                                  int height, int width, int channels) {
  std::string bytes;
  Message value(bytes);
  add_tag(value, tag);
  {
    Message image(value, 4);
    image.add_int32(1, height);
    image.add_int32(2, width);
    image.add_int32(3, channels);
    image.add_bytes(4, encoded_png.data(), encoded_png.size());
  }
  add_summary(step, bytes);
}

void TensorBoardWriter::add_histogram(std::string_view tag, std::int64_t step,
                                      std::span<const double> values) {
  const auto& limits = bucket_limits();
  std::vector<double> counts(limits.size());
  Histogram found;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    found.min = found.count == 0 ? value : std::min(found.min, value);
    found.max = found.count == 0 ? value : std::max(found.max, value);
    found.count += 1, found.sum += value, found.sum_of_squares += value * value;
    const auto bucket = std::upper_bound(limits.begin(), limits.end() - 1, value) - limits.begin();
    counts[static_cast<std::size_t>(bucket)] += 1;
  }
  // Only the used range, with one empty bucket below it, from which a reader gets the lowest edge.
  const auto used = [](double count) { return count > 0; };
  auto first = std::find_if(counts.begin(), counts.end(), used);
  if (first != counts.begin() && first != counts.end()) --first;
  const auto last = std::max(first, std::find_if(counts.rbegin(), counts.rend(), used).base());
  found.limits.assign(limits.begin() + (first - counts.begin()), limits.begin() + (last - counts.begin()));
  found.counts.assign(first, last);
  add_histogram(tag, step, found);
}

void TensorBoardWriter::add_histogram(std::string_view tag, std::int64_t step, const Histogram& histogram) {
  std::string bytes;
  Message value(bytes);
  add_tag(value, tag);
  {
    Message message(value, 5);
    const double facts[] = {histogram.min, histogram.max, histogram.count, histogram.sum,
                            histogram.sum_of_squares};
    for (protozero::pbf_tag_type field = 1; field <= 5; ++field) message.add_double(field, facts[field - 1]);
    message.add_packed_double(6, histogram.limits.begin(), histogram.limits.end());
    message.add_packed_double(7, histogram.counts.begin(), histogram.counts.end());
  }
  add_summary(step, bytes);
}

void TensorBoardWriter::add_hparams_data(std::string_view tag, std::string_view content) {
  std::string bytes;
  Message value(bytes);
  add_tag(value, tag);
  add_metadata(value, "hparams", content);
  add_summary(0, bytes);
}

void TensorBoardWriter::add_hparams(const HParams& settings, const std::vector<std::string>& metrics) {
  if (!metrics.empty()) {
    std::string content;
    Message data(content);
    {
      Message experiment(data, 2);
      for (const auto& [name, setting] : settings) {
        Message info(experiment, 4);
        info.add_string(1, valid_utf8(name));
        info.add_enum(4, hparam_type(setting));
      }
      for (const std::string& metric : metrics) {
        Message info(experiment, 5);
        Message name(info, 1);
        name.add_string(2, valid_utf8(metric));
      }
    }
    add_hparams_data("_hparams_/experiment", content);
  }
  std::string content;
  Message data(content);
  {
    Message session(data, 3);
    for (const auto& [name, setting] : settings) {
      Message entry(session, 1);
      entry.add_string(1, valid_utf8(name));
      entry.add_message(2, hparam_value(setting));
    }
    session.add_double(5, wall_clock());
  }
  add_hparams_data("_hparams_/session_start_info", content);
}

void TensorBoardWriter::end_session(Status status) { end_session(status, wall_clock()); }

void TensorBoardWriter::end_session(Status status, double wall_time) {
  std::string content;
  Message data(content);
  {
    Message session(data, 4);
    session.add_enum(1, static_cast<int>(status));
    session.add_double(2, wall_time);
  }
  add_hparams_data(end_tag, content);
}

}  // namespace runner
