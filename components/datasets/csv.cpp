#include <algorithm>
#include <set>

#include "components/datasets/columns/learn_columns.hpp"
#include "components/datasets/columns/row_encoder.hpp"
#include "components/datasets/columns/table_interpreter.hpp"
#include "components/datasets/columns/table_split.hpp"
#include "components/datasets/read/separator.hpp"
#include "registry/base/log.hpp"
#include "registry/base/wording.hpp"
#include "registry/files/folders.hpp"
#include "registry/files/io_error.hpp"
#include "registry/files/json_lines.hpp"

namespace runner {

// Not in the unnamed namespace, because std::optional of these types is described.
namespace csv {

enum class Separator : char { comma = ',', semicolon = ';', tab = '\t', bar = '|' };
constexpr auto describe(std::type_identity<Separator>) {
  return choices(choice(",", Separator::comma), choice(";", Separator::semicolon),
                 choice("tab", Separator::tab), choice("|", Separator::bar));
}

enum class ThousandsMark : char { comma = ',', point = '.', space = ' ', apostrophe = '\'' };
constexpr auto describe(std::type_identity<ThousandsMark>) {
  return choices(choice(",", ThousandsMark::comma), choice(".", ThousandsMark::point),
                 choice(" ", ThousandsMark::space), choice("'", ThousandsMark::apostrophe));
}

}  // namespace csv

namespace {

using csv::Separator, csv::ThousandsMark;

enum class TargetKind { classification, regression };
constexpr auto describe(std::type_identity<TargetKind>) {
  return choices(choice("classification", TargetKind::classification, "the target is one of several classes"),
                 choice("regression", TargetKind::regression, "the target is a number"));
}

enum class DecimalMark : char { point = '.', comma = ',' };
constexpr auto describe(std::type_identity<DecimalMark>) {
  return choices(choice(".", DecimalMark::point), choice(",", DecimalMark::comma));
}

struct Csv {
  std::filesystem::path train = {};
  std::optional<std::filesystem::path> eval = {};
  std::optional<double> split = {};
  std::optional<std::uint32_t> split_seed = {};
  std::string target = {};
  TargetKind task = TargetKind::classification;
  std::string trim_target = {};
  std::vector<std::string> numeric = {}, categorical = {}, ignore = {};
  Categories categories = Categories::ids;
  bool standardize = true;
  std::optional<bool> standardize_target = {};
  bool missing_indicator = false;
  std::optional<std::vector<std::string>> missing = {};
  std::vector<std::string> columns = {};
  std::optional<bool> header = {};
  std::optional<Separator> separator = {};
  DecimalMark decimal = DecimalMark::point;
  std::optional<ThousandsMark> thousands = {};
  std::vector<std::string> units = {};
  std::string comment = {};
  std::int64_t skip_lines = 0;
  bool trim = true;
};

constexpr auto describe(std::type_identity<Csv>) {
  return fields(
      field("train", &Csv::train, "File to train on.", required(), non_empty()),
      field("eval", &Csv::eval, "File to evaluate with; its columns may be in another order.", non_empty()),
      field("split", &Csv::split,
            "Without `eval`: this share of the rows, of each class, becomes the validation set.", above(0),
            below(1)),
      field("split_seed", &Csv::split_seed, "Seed of the choice of these rows; default: 1."),
      field("target", &Csv::target, "The column to predict.", required()),
      field("task", &Csv::task, "What the target is."),
      field("trim_target", &Csv::trim_target,
            "Characters to remove from the end of class names: \".\" for UCI's adult.test."),
      field("numeric", &Csv::numeric,
            "Columns of numbers. A column in none of the lists is numeric if it has only numbers in the "
            "training set, otherwise categorical; the log says which."),
      field("categorical", &Csv::categorical,
            "Columns of categories. Missing values, and values that are not in the training set, share the "
            "id 0."),
      field("ignore", &Csv::ignore, "Columns that the model does not see."),
      field("categories", &Csv::categories, "How categories are passed to the model."),
      field("standardize", &Csv::standardize,
            "Scale numeric columns to mean 0 and standard deviation 1 of the training set."),
      field("standardize_target", &Csv::standardize_target,
            "For regression: scale the target to mean 0 and standard deviation 1 of the training set; "
            "default: true. Predictions, mae and rmse are in the units of the table."),
      field("missing_indicator", &Csv::missing_indicator,
            "Add an input, 0 or 1, for each numeric column with missing values in the training set. Missing "
            "values are replaced by the mean in any case."),
      field("missing", &Csv::missing,
            "Texts that mean a missing value; default: the usual ones, such as an empty value, NA, N/A, NaN, "
            "null and ?, and in "
            "columns of numbers also -, None, ND and the like. The log says which were found."),
      field("columns", &Csv::columns, "Names of all columns, for files without a header or instead of it."),
      field("header", &Csv::header,
            "Whether the first row has the names of the columns; default: true unless `columns` is given."),
      field("separator", &Csv::separator, "What separates values; default: recognised from the first rows."),
      field("decimal", &Csv::decimal, "The decimal separator."),
      field("thousands", &Csv::thousands,
            "The thousands separator; \" \" is a space of any kind, \"'\" also a typeset apostrophe."),
      field("units", &Csv::units, "Texts before or after numbers to ignore: [\"€\", \"%\"]."),
      field("comment", &Csv::comment, "Ignore lines that start with this."),
      field("skip_lines", &Csv::skip_lines,
            "Lines to skip at the beginning of `train` and `eval`, before the header or the first row.",
            within(0, 1e9)),
      field("trim", &Csv::trim, "Remove spaces around values that are not in quotes."));
}

void check(const Csv& settings, Report& report) {
  if (settings.eval && settings.split) report.error("split", "cannot be combined with eval");
  if (!settings.eval && !settings.split)
    report.error("eval", "or split is needed: there is nothing to evaluate on");
  if (!settings.split && settings.split_seed) report.error("split_seed", "has no effect without split");
  if (settings.task == TargetKind::regression && !settings.trim_target.empty())
    report.error("trim_target", "is for classes, but the task is regression");
  if (settings.task == TargetKind::classification && settings.standardize_target)
    report.error("standardize_target", "is for regression: classes are not numbers");
  if (settings.thousands && static_cast<char>(*settings.thousands) == static_cast<char>(settings.decimal))
    report.error("thousands", "cannot be the same as decimal");
  if (settings.columns.empty() && !settings.header.value_or(true))
    report.error("columns", "is needed if no header names the columns");
  std::set<std::string> different;
  for (const std::string& name : settings.columns) {
    if (!different.insert(name).second) report.error("columns", "has " + in_quotes(name) + " twice");
  }
  std::vector<std::string> named{settings.target};
  const std::pair<const char*, const std::vector<std::string>*> lists[] = {
      {"numeric", &settings.numeric}, {"categorical", &settings.categorical}, {"ignore", &settings.ignore}};
  for (const auto& [list, names] : lists) {
    for (const std::string& name : *names) {
      if (std::ranges::find(named, name) != named.end())
        report.error(list, "names " + in_quotes(name) + ", which is the target or in a list already");
      named.push_back(name);
    }
  }
}

TableFormat format_of(const Csv& settings) {
  return {.csv = {.separator = static_cast<char>(settings.separator.value_or(Separator::comma)),
                  .trim = settings.trim,
                  .comment = settings.comment,
                  .skip_lines = settings.skip_lines},
          .header = settings.header.value_or(settings.columns.empty()),
          .columns = settings.columns,
          .missing =
              settings.missing.value_or(std::vector<std::string>(usual_missing.begin(), usual_missing.end())),
          .usual_marks = !settings.missing,
          .numbers = {.decimal = static_cast<char>(settings.decimal),
                      .thousands = settings.thousands ? static_cast<char>(*settings.thousands) : '\0',
                      .units = settings.units}};
}

// JSON lines name their columns themselves and need no format.
void require_no_format(const Csv& settings, const std::filesystem::path& file) {
  const FileText content(file);
  if (!is_json_lines(content.text())) return;
  for (const auto& [name, given] : {std::pair{"separator", settings.separator.has_value()},
                                    {"header", settings.header.has_value()},
                                    {"columns", !settings.columns.empty()},
                                    {"comment", !settings.comment.empty()},
                                    {"skip_lines", settings.skip_lines > 0},
                                    {"trim", !settings.trim}}) {
    if (given)
      throw IoError(file.string() + " has JSON, whose keys name the columns: dataset." + name +
                    " has no effect. Remove it.");
  }
}

// For one file: the separator is detected if the recipe does not set it.
TableFormat format_of(const Csv& settings, const std::filesystem::path& file) {
  require_no_format(settings, file);
  TableFormat format = format_of(settings);
  if (!settings.separator) format.csv.separator = separator_of_file(file, format);
  return format;
}

void say(const TablePart& training, const TableColumns& columns, std::int64_t eval_rows) {
  std::vector<std::string> numbers, categories;
  const auto shown = [](const std::string& name) { return name.empty() ? in_quotes(name) : name; };
  for (const NumericColumn& column : columns.numeric) numbers.push_back(shown(column.name));
  for (const CategoricalColumn& column : columns.categorical)
    categories.push_back(shown(column.name) + " (" + std::to_string(column.values.size()) + ")");
  const char separator = training.format().csv.separator;
  if (separator != ',')
    log::info("{}: the values are separated by {}.", training.name(),
              separator == '\t' ? "tabs" : in_quotes(std::string(1, separator)));
  log::info(
      "{}: {} rows to train on, {} to evaluate with; numeric: {}; "
      "categorical: {}; target: {}{}.",
      training.name(), training.size(), eval_rows, numbers.empty() ? "none" : listed(numbers),
      categories.empty() ? "none" : listed(categories), escaped_name(columns.target),
      columns.classes.empty() ? "" : " (" + std::to_string(columns.classes.size()) + " classes)");
}

void require_file(const std::filesystem::path& path, const std::string& key) {
  if (is_missing(path))
    throw DataError("There is no file " + path.string() + ". Set dataset." + key + " to the table.");
}

class CsvDataset final : public Dataset {
 public:
  CsvDataset(const Csv& settings, std::string learned) : settings_(settings), learned_(std::move(learned)) {}

  // Reads the training set: the numbers of inputs, categories and classes are not known otherwise.
  DataSpec spec() const override {
    const Table& table = this->table();
    DataSpec spec = table_spec(table.columns, settings_.categories);
    spec.train_examples = table.train.size();
    return spec;
  }

  Splits open(const TransformPipeline&) const override {
    const Table& table = this->table();
    try {
      auto train = encode(table.train, table.columns, settings_.trim_target);
      auto eval = encode(table.eval, table.columns, settings_.trim_target);
      say(table.train, table.columns, eval.size);
      return {.train = std::make_unique<TableSplit>(table.columns, settings_.categories, std::move(train)),
              .eval = std::make_unique<TableSplit>(table.columns, settings_.categories, std::move(eval)),
              .learned = table.columns.json()};
    } catch (const IoError& error) {
      throw DataError(error.what());
    }
  }

  std::unique_ptr<Interpreter> interpreter(const TransformPipeline&,
                                           const std::string& learned) const override {
    try {
      TableColumns columns = TableColumns::from_json(learned);
      TableFormat format = format_of(settings_);
      format.csv.separator = columns.separator;
      format.csv.skip_lines = 0;  // only the training files have such lines
      return std::make_unique<TableInterpreter>(std::move(columns), std::move(format), settings_.categories);
    } catch (const IoError& error) {
      throw DataError(error.what());
    }
  }

 private:
  struct Table {
    TablePart train, eval;
    TableColumns columns;
  };

  const Table& table() const {
    if (table_) return *table_;
    try {
      require_file(settings_.train, "train");
      if (settings_.eval) require_file(*settings_.eval, "eval");
      const TablePart whole(settings_.train, format_of(settings_, settings_.train));
      auto [train, eval] =
          settings_.split
              ? split(whole)
              : std::pair(whole, TablePart(*settings_.eval, format_of(settings_, *settings_.eval)));
      TableColumns columns = learned_.empty() ? learn_columns(train, choice()) : columns_of_run();
      table_.emplace(std::move(train), std::move(eval), std::move(columns));
      return *table_;
    } catch (const IoError& error) {
      throw DataError(error.what());
    }
  }

  TableColumns columns_of_run() const {
    TableColumns columns = TableColumns::from_json(learned_);
    const bool regression = columns.classes.empty();
    if (columns.target != settings_.target || regression != (settings_.task == TargetKind::regression)) {
      throw IoError("The run was trained to predict the " + std::string(regression ? "number" : "class") +
                    " in the column " + in_quotes(columns.target) +
                    ": dataset.target and dataset.task cannot be changed afterwards.");
    }
    return columns;
  }

  // Takes the same share of each class.
  std::pair<TablePart, TablePart> split(const TablePart& whole) const {
    std::optional<std::size_t> by;
    if (settings_.task == TargetKind::classification)
      by = find_column(whole.columns(), settings_.target, whole.name());
    auto parts = whole.split(*settings_.split, settings_.split_seed.value_or(1), by);
    if (parts.second.size() > 0) return parts;
    bool numbers = true;
    whole.each([&](const RowReader& row) {
      numbers = numbers && parse_number(row.values()[*by], whole.format().numbers);
    });
    throw IoError(
        whole.name() + " has fewer than two rows in every class, so it cannot be split." +
        (numbers ? " To predict numbers rather than classes, set dataset.task = \"regression\"." : ""));
  }

  ColumnChoice choice() const {
    return {.target = settings_.target,
            .regression = settings_.task == TargetKind::regression,
            .trim_target = settings_.trim_target,
            .numeric = settings_.numeric,
            .categorical = settings_.categorical,
            .ignore = settings_.ignore,
            .standardize = settings_.standardize,
            .standardize_target = settings_.standardize_target.value_or(true),
            .indicators = settings_.missing_indicator};
  }

  Csv settings_;
  std::string learned_;                 // by the run that is evaluated; empty: this one learns
  mutable std::optional<Table> table_;  // read on first use
};

DatasetFacts facts(const Csv&) { return {.tasks = {runner::Task::table}}; }

std::unique_ptr<Dataset> build(const Csv& settings, const DatasetInputs& inputs) {
  return std::make_unique<CsvDataset>(settings, inputs.learned);
}

const Registration<DatasetKind> registration{"csv",
                                             "Tables of numbers and categories: comma-separated values, as "
                                             "spreadsheets write them, or JSON lines; also compressed with "
                                             "gzip.",
                                             &build};

}  // namespace

}  // namespace runner
