#include "runner/runs/metrics_file.hpp"

#include <limits>
#include <nlohmann/json.hpp>

#include "components/trackers/json_number.hpp"
#include "registry/files/lines.hpp"
#include "runner/runs/own_files.hpp"
#include "runner/runs/whole_number.hpp"

namespace runner {

namespace {

using Json = nlohmann::json;

// Parses a line without building a JSON tree, because files may have millions of lines.
class LineReader final : public Json::json_sax_t {
 public:
  explicit LineReader(Record& record) : record_(record) { record_.values.clear(); }

  bool null() override { return number(std::numeric_limits<double>::quiet_NaN()); }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t value) override { return number(static_cast<double>(value)); }
  bool number_unsigned(number_unsigned_t value) override { return number(static_cast<double>(value)); }
  bool number_float(number_float_t value, const string_t&) override { return number(value); }
  bool string(string_t& text) override {
    if (const auto found = number_of_word(text)) return number(*found);
    return true;  // not a number
  }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return ++depth_ == 1; }
  bool end_object() override { return true; }
  bool start_array(std::size_t) override { return false; }
  bool end_array() override { return false; }
  bool key(string_t& name) override {
    key_.swap(name);
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const Json::exception&) override { return false; }

 private:
  bool number(double value) {
    if (depth_ == 0) return false;
    if (key_ == "step") {
      const auto step = whole_number(value);
      if (!step) return false;
      record_.step = *step;
    } else if (key_ == "epoch") {
      record_.epoch = value;
    } else if (key_ == "time") {
      record_.time = value;
    } else {
      record_.values.emplace_back(key_, value);
    }
    return true;
  }

  Record& record_;
  std::string key_;
  int depth_ = 0;
};

}  // namespace

void MetricsFile::read(const std::function<void(const Record&)>& each,
                       const std::function<void()>& restarted) {
  const auto file = open_record(path_);
  if (!file) return;  // no file yet: nothing was measured
  if (file->size() < position_) {
    position_ = 0;
    restarted();
  }
  Lines lines(*file, position_);
  while (const auto line = lines.next()) {
    take(*line, each);
    position_ = lines.after();
  }
}

void MetricsFile::take(std::string_view line, const std::function<void(const Record&)>& each) {
  if (line.empty()) return;
  LineReader reader(record_);
  if (Json::sax_parse(line, &reader)) each(record_);
}

}  // namespace runner
