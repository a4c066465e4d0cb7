// One row per record, one column per metric: step,epoch,time,train/loss,.. When a new metric appears, the
// table is copied to a temporary file, with the new column empty in the existing rows, and renamed into
// place, so that a reader always finds a complete table. Numbers that are not finite are written as nan, inf
// and -inf, which Python's float() accepts.
//
// A table outside the run folder could be that of another run, so the state says which one is this run's own.
#include <charconv>
#include <fstream>
#include <stdexcept>
#include <unordered_map>

#include "components/trackers/append_file.hpp"
#include "components/trackers/cut_lines.hpp"
#include "components/trackers/path_below.hpp"
#include "components/trackers/place.hpp"
#include "components/trackers/tracker.hpp"
#include "components/trackers/tracker_files.hpp"
#include "registry/base/number_text.hpp"
#include "registry/files/csv_cell.hpp"

namespace runner {
namespace {

std::string header_of(const std::vector<std::string>& columns) {
  std::string header = "step,epoch,time";
  for (const std::string& column : columns) header += "," + csv_cell(column);
  return header + "\n";
}

// A spreadsheet may have saved the table, with the line ends of Windows.
void drop_carriage_return(std::string& line) {
  if (line.ends_with('\r')) line.pop_back();
}

// The cells of a header line that this tracker has written.
std::vector<std::string> cells_of(std::istream& in) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (int c = in.get(); c != EOF && (quoted || c != '\n'); c = in.get()) {
    if (quoted && c == '"' && in.peek() == '"') {
      cells.back() += static_cast<char>(in.get());
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      cells.emplace_back();
    } else {
      cells.back() += static_cast<char>(c);
    }
  }
  drop_carriage_return(cells.back());
  return cells;
}

struct Moment {
  std::int64_t step = 0;
  double epoch = 0;
};

// The first two cells; nothing if the row does not start with them.
std::optional<Moment> moment_of(std::string_view row) {
  Moment moment;
  const char* const begin = row.data();
  const char* const end = begin + row.size();
  const auto [after_step, bad_step] = std::from_chars(begin, end, moment.step);
  if (bad_step != std::errc{} || after_step == end) return std::nullopt;
  const auto [after_epoch, bad_epoch] = std::from_chars(after_step + 1, end, moment.epoch);
  if (bad_epoch != std::errc{}) return std::nullopt;
  return moment;
}

class CsvTable : public Tracker {
 public:
  explicit CsvTable(std::filesystem::path path) : path_(std::move(path)) {}

  State save() const override {
    if (own_.empty()) return {};
    return {.texts = {{"file", own_}}};
  }
  void load(const State& state) override {
    StateReader saved(state);
    own_ = saved.text("file");
    saved.finish();
  }

  void start(const RunFacts& facts) override {
    const bool claimed = claim_outside(facts.folder);
    cut_unfinished_line(path_);
    if (!is_missing_or_empty(path_)) take_up(facts);
    file_ = AppendFile(path_);
    // At once, so that a run that starts at the same time finds out.
    if (claimed && file_.size() == 0) file_.append(header_of({}));
  }

  void log(const Record& record) override {
    add_columns(record);
    std::vector<std::string> row(columns_.size());
    for (const auto& [name, value] : record.values) {
      row[index_.at(name)] = number_text(value);
    }
    std::string line =
        std::to_string(record.step) + "," + number_text(record.epoch) + "," + number_text(record.time);
    for (const std::string& each : row) line += "," + each;
    file_.append(line + "\n");
    rows_of_step_ = record.step == step_ ? rows_of_step_ + 1 : 1;
    step_ = record.step;
  }

  std::optional<RecordedPoints> points(const RunFacts&, const std::vector<std::string>&) override {
    RecordedPoints found;
    std::ifstream in(path_, std::ios::binary);
    const std::vector<std::string> names = cells_of(in);
    for (std::string row; std::getline(in, row);) {
      const auto moment = moment_of(row);
      drop_carriage_return(row);
      std::size_t begin = 0;  // of the cell; numbers hold no comma
      for (std::size_t i = 0; moment && i < names.size() && begin <= row.size(); ++i) {
        const std::size_t end = std::min(row.find(',', begin), row.size());
        if (i >= 3 && end > begin) ++found[names[i]][moment->step];
        begin = end + 1;
      }
    }
    return found;
  }

  // Not the size of the file, because all rows grow when a column is added.
  State place() const override { return {.integers = {{"step", step_}, {"rows_of_step", rows_of_step_}}}; }

 private:
  // Whether the table is outside the run folder; then it must be empty, or this run's own.
  bool claim_outside(const std::filesystem::path& run) {
    const std::filesystem::path table = std::filesystem::weakly_canonical(path_);
    if (path_below(std::filesystem::weakly_canonical(run), table)) return false;
    if (own_ != table.string() && !is_missing_or_empty(path_)) {
      throw std::runtime_error(path_.string() +
                               " holds the rows of another run: set another file or logging_dir. By default, "
                               "the table is in the run folder.");
    }
    own_ = table.string();
    return true;
  }

  void take_up(const RunFacts& facts) {
    std::ifstream in(path_, std::ios::binary);
    columns_ = cells_of(in);
    if (columns_.size() < 3 || columns_[0] != "step" || columns_[1] != "epoch" || columns_[2] != "time") {
      throw std::runtime_error(path_.string() + " already exists and was not written by this tracker.");
    }
    columns_.erase(columns_.begin(), columns_.begin() + 3);
    const std::streamoff header = in.tellg();
    if (facts.starts_over()) {  // the recipe, and thus the columns, may have changed
      columns_.clear();
      std::filesystem::resize_file(path_, 0);
    } else if (facts.resumed_at) {
      cut_rows(facts, static_cast<std::uint64_t>(header));
    }
    for (const std::string& column : columns_) index_.emplace(column, index_.size());
  }

  // Rows of the checkpoint's step may be on both sides of it. If its place is known, the first ones are kept,
  // as many as there were. The file is read backwards, only as far as that step.
  void cut_rows(const RunFacts& facts, std::uint64_t header) {
    const auto last = place_integer(facts, "step"), rows = place_integer(facts, "rows_of_step");
    step_ = *facts.resumed_at;
    rows_of_step_ = count_rows_of_step(header);
    cut_lines(
        path_,
        [&](const BackwardLines::Line& line) -> std::optional<bool> {
          const auto moment = moment_of(line.text);
          if (!moment) return std::nullopt;
          const bool too_many =
              last && moment->step == step_ && rows_of_step_ > (last == step_ ? rows.value_or(0) : 0);
          const bool kept = facts.keeps(moment->step, moment->epoch) && !too_many;
          if (!kept && moment->step == step_) --rows_of_step_;
          return kept;
        },
        header);
  }

  std::int64_t count_rows_of_step(std::uint64_t header) const {
    std::int64_t count = 0;
    BackwardLines lines(path_, header);
    while (const auto line = lines.next()) {
      const auto moment = moment_of(line->text);
      if (moment && moment->step < step_) break;
      if (moment && moment->step == step_) ++count;
    }
    return count;
  }

  void add_columns(const Record& record) {
    const std::size_t before = columns_.size();
    for (const auto& [name, value] : record.values) {
      if (index_.try_emplace(name, columns_.size()).second) columns_.push_back(name);
    }
    if (file_.size() == 0) {
      file_.append(header_of(columns_));
    } else if (columns_.size() > before) {
      rewrite(std::string(columns_.size() - before, ','));
    }
  }

  void rewrite(const std::string& empty_cells) {
    const std::filesystem::path draft = path_.string() + ".new";
    std::filesystem::remove(draft);
    try {
      copy_rows(draft, empty_cells);
      std::filesystem::rename(draft, path_);
    } catch (...) {
      std::error_code ignored;
      std::filesystem::remove(draft, ignored);
      throw;
    }
    file_ = AppendFile(path_);
  }

  void copy_rows(const std::filesystem::path& draft, const std::string& empty_cells) {
    AppendFile out(draft);
    out.append(header_of(columns_));
    std::ifstream in(path_, std::ios::binary);
    cells_of(in);  // skips the old header
    std::string rows;
    for (std::string row; std::getline(in, row);) {
      drop_carriage_return(row);
      rows += row + empty_cells + "\n";
      if (rows.size() <= 1 << 16) continue;
      out.append(rows);
      rows.clear();
    }
    out.append(rows);
  }

  std::filesystem::path path_;
  std::string own_;  // the table outside the run folder that belongs to this run
  AppendFile file_;
  std::int64_t step_ = -1, rows_of_step_ = 0;           // of the last row
  std::vector<std::string> columns_;                    // after step, epoch and time
  std::unordered_map<std::string, std::size_t> index_;  // of each in columns_
};

struct Csv {
  std::filesystem::path file = "metrics.csv";
};
constexpr auto describe(std::type_identity<Csv>) {
  return fields(field("file", &Csv::file, "The file; relative to logging_dir, or to the run folder.",
                      non_empty(), in_run_folder()));
}

// The other files of a run folder, such as metrics.jsonl, have other endings.
void check(const Csv& settings, Report& report) {
  if (settings.file.extension() != ".csv") report.error("file", "must end in .csv");
}

TrackerFacts facts(const Csv&) { return {.writes_files = true}; }

std::unique_ptr<Tracker> build(const Csv& settings, const TrackerInputs& inputs) {
  return std::make_unique<CsvTable>(inputs.folder_or("") / settings.file);
}

const Registration<TrackerKind> registration{
    "csv", "A table for spreadsheets and pandas: one row per record, one column per metric.", &build};

}  // namespace
}  // namespace runner
