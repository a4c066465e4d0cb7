#include "components/datasets/read/labelled_sentences.hpp"
#include "components/datasets/stratified_split.hpp"
#include "components/datasets/text_sentences.hpp"
#include "components/datasets/token_cache.hpp"
#include "components/tokenizers/generated_text.hpp"
#include "components/tokenizers/tokenizer.hpp"
#include "registry/base/wording.hpp"
#include "registry/files/folders.hpp"

namespace runner {

constexpr auto describe(std::type_identity<TextEncoding>) {
  return choices(choice("utf-8", TextEncoding::utf8, "Unicode, which includes ASCII"),
                 choice("latin-1", TextEncoding::latin1, "one byte per character, ISO 8859-1"));
}

namespace {

struct TextClassification {
  std::map<std::string, std::filesystem::path> files = {};
  std::optional<std::filesystem::path> file = {}, eval_file = {};
  std::optional<std::string> text = {}, label = {};
  std::vector<std::string> columns = {};
  std::int64_t skip_lines = 0;
  TextEncoding encoding = TextEncoding::utf8;
  std::optional<double> split = {};
  std::optional<std::uint32_t> split_seed = {};
  Part<TokenizerKind> tokenizer = "word";
  std::int64_t length = 64;
  TextFallback fallback = TextFallback::none;
};

constexpr auto describe(std::type_identity<TextClassification>) {
  using T = TextClassification;
  return fields(
      field("files", &T::files,
            "One file per class, by the name of the class, with one sentence per line: { negative = "
            "\"bad.txt\", positive = \"good.txt\" }."),
      field("file", &T::file,
            "Instead of `files`: one table with one sentence per row: comma-separated, tab-separated if its "
            "name ends in .tsv, or "
            "JSON lines; each may be compressed with gzip."),
      field("eval_file", &T::eval_file, "Another table to evaluate on."),
      field("text", &T::text, "Column of the table with the sentences (default \"text\").", non_empty()),
      field("label", &T::label, "Column of the table with the classes (default \"label\").", non_empty()),
      field("columns", &T::columns, "Names of the table's columns, if its first row does not have them."),
      field("skip_lines", &T::skip_lines, "Lines to skip at the beginning of the tables.", within(0, 1e9)),
      field("encoding", &T::encoding, "Character encoding of the files."),
      field("split", &T::split,
            "Without `eval_file`: this share of each class becomes the validation set (default 0.1).",
            above(0), below(1)),
      field("split_seed", &T::split_seed, "Seed of the choice of these sentences; default: 1."),
      field("tokenizer", &T::tokenizer, "How sentences become tokens."),
      field("length", &T::length, "Tokens per sentence: longer ones are truncated, shorter ones padded.",
            within(1, 1 << 24)),
      field("fallback", &T::fallback, "What to do if all files are missing."));
}

void check(const TextClassification& settings, Report& report) {
  const bool tables = settings.file.has_value();
  if (tables && !settings.files.empty()) report.error("files", "cannot be combined with file");
  if (!tables && settings.files.size() < 2) {
    report.error("files", "needs a file for each of at least two classes; or set file to one table");
  }
  const auto table_only = [&](const char* name, bool given) {
    if (!tables && given) report.error(name, "has no effect without file");
  };
  table_only("eval_file", settings.eval_file.has_value());
  table_only("text", settings.text.has_value());
  table_only("label", settings.label.has_value());
  table_only("columns", !settings.columns.empty());
  table_only("skip_lines", settings.skip_lines > 0);
  if (settings.eval_file && settings.split) report.error("split", "cannot be combined with eval_file");
  if (settings.eval_file && settings.split_seed) {
    report.error("split_seed", "cannot be combined with eval_file");
  }
}

SentenceTable table_of(const TextClassification& settings) {
  return {settings.text.value_or("text"), settings.label.value_or("label"), settings.columns,
          settings.skip_lines};
}

// A run that was trained on a table reads the texts of another one, by the name of the column.
class TableTextInterpreter final : public SentenceInterpreter {
 public:
  TableTextInterpreter(SentenceEncoder encoder, const TextClassification& settings)
      : SentenceInterpreter(std::move(encoder)), table_(table_of(settings)), encoding_(settings.encoding) {
    table_.skip_lines = 0;  // only the training files have such lines
  }

  std::optional<std::vector<std::string>> inputs_in(const std::filesystem::path& file) const override {
    return read_texts(file, table_, encoding_);
  }

 private:
  SentenceTable table_;
  TextEncoding encoding_;
};

class TextClassificationDataset final : public Dataset {
 public:
  TextClassificationDataset(const TextClassification& settings, const DatasetInputs& inputs)
      : settings_(settings), learned_(inputs.learned), classes_(inputs.classes) {}

  // Reads the data: classes and vocabulary are not known otherwise.
  DataSpec spec() const override {
    const Parts parts = read();
    return sentence_spec(encoder(parts.train), parts.train.classes);
  }

  Splits open(const TransformPipeline&) const override {
    const Parts parts = read();
    const auto shared = std::make_shared<const SentenceEncoder>(encoder(parts.train));
    Splits splits;
    auto train = std::make_unique<SentenceSplit>(shared, parts.train);
    train->warn_of_cut_texts(paths().front().string());
    splits.train = std::move(train);
    splits.eval = std::make_unique<SentenceSplit>(shared, parts.eval);
    splits.learned = shared->tokenizer().json();
    if (generated()) splits.stand_in = generated_stand_in(paths().front().string());
    return splits;
  }

  std::unique_ptr<Interpreter> interpreter(const TransformPipeline&,
                                           const std::string& learned) const override {
    SentenceEncoder encoder(settings_.tokenizer.build({.learned = learned}), settings_.length);
    if (settings_.file) return std::make_unique<TableTextInterpreter>(std::move(encoder), settings_);
    return std::make_unique<SentenceInterpreter>(std::move(encoder));
  }

 private:
  struct Parts {
    LabelledSentences train, eval;
  };

  std::vector<std::filesystem::path> paths() const {
    if (settings_.file) return {*settings_.file};
    std::vector<std::filesystem::path> all;
    for (const auto& [name, path] : settings_.files) all.push_back(path);
    return all;
  }

  bool generated() const {
    return settings_.fallback == TextFallback::generated && std::ranges::all_of(paths(), is_missing);
  }

  LabelledSentences generate() const {
    constexpr std::int64_t each = 1000;
    LabelledSentences made;
    for (const auto& [name, path] : settings_.files) made.classes.push_back(name);
    if (settings_.file) made.classes = {"0", "1"};
    const auto classes = static_cast<std::int64_t>(made.classes.size());
    for (std::int64_t i = 0; i < each * classes; ++i) {
      made.labels.push_back(i % classes);
      made.texts.push_back(generated_sentence(i, i % classes, classes));
    }
    return made;
  }

  Parts read() const {
    if (generated()) return divided(generate());
    if (!settings_.file) return divided(read_class_files(settings_.files, settings_.encoding));
    const SentenceTable table = table_of(settings_);
    LabelledSentences all = read_sentence_table(*settings_.file, table, settings_.encoding, classes_);
    if (!settings_.eval_file) return divided(all);
    LabelledSentences eval =
        read_sentence_table(*settings_.eval_file, table, settings_.encoding, all.classes);
    return {std::move(all), std::move(eval)};
  }

  Parts divided(const LabelledSentences& all) const {
    std::vector<std::int64_t> counts(all.classes.size());
    for (const std::int64_t label : all.labels) ++counts[static_cast<std::size_t>(label)];
    for (std::size_t label = 0; label < counts.size(); ++label) {
      if (counts[label] >= 2) continue;
      throw DataError("There is only one sentence of the class " + in_quotes(all.classes[label]) + " in " +
                      paths()[settings_.file ? 0 : label].string() + ": there is nothing to split.");
    }
    const IndexSplit indices =
        stratified_split(all.labels, settings_.split.value_or(0.1), settings_.split_seed.value_or(1));
    return {all.selection(indices.train), all.selection(indices.eval)};
  }

  SentenceEncoder encoder(const LabelledSentences& train) const {
    const std::vector<std::string_view> texts(train.texts.begin(), train.texts.end());
    return {cached_tokenizer(settings_.tokenizer, {.texts = texts, .unknown = true, .learned = learned_}),
            settings_.length};
  }

  TextClassification settings_;
  // Of the run that is evaluated; empty: both are learnt.
  std::string learned_;
  std::vector<std::string> classes_;
};

DatasetFacts facts(const TextClassification&) { return {.tasks = {Task::sentences}}; }

std::unique_ptr<Dataset> build(const TextClassification& settings, const DatasetInputs& inputs) {
  return std::make_unique<TextClassificationDataset>(settings, inputs);
}

const Registration<DatasetKind> registration{"text_classification",
                                             "Sentences with classes: one file per class, or a table. The "
                                             "\"mask\" of a batch marks what is not padding.",
                                             &build};

}  // namespace

}  // namespace runner
