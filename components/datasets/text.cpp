#include "components/contract/example_random.hpp"
#include "components/datasets/dataset.hpp"
#include "components/datasets/image_split.hpp"
#include "components/datasets/read/text_file.hpp"
#include "components/datasets/selection.hpp"
#include "components/datasets/token_cache.hpp"
#include "components/tokenizers/code_points.hpp"
#include "components/tokenizers/generated_text.hpp"
#include "components/tokenizers/token_store.hpp"
#include "components/tokenizers/tokenizer.hpp"
#include "registry/base/wording.hpp"
#include "registry/files/folders.hpp"

namespace runner {

namespace {

struct Text {
  std::filesystem::path file = {};
  std::optional<std::filesystem::path> eval_file = {};
  std::optional<std::string> text = {};
  std::optional<double> split = {};
  Part<TokenizerKind> tokenizer = "char";
  std::int64_t length = 64;
  bool random_offset = true;
  TextFallback fallback = TextFallback::none;
};

constexpr double default_split = 0.1;

constexpr auto describe(std::type_identity<Text>) {
  return fields(
      field("file", &Text::file,
            "The text in UTF-8, or a folder whose *.txt files are read in order of their names, each from a "
            "new line. Of JSON lines (*.jsonl), the texts of one column are read in the same way. Each file "
            "may be compressed with "
            "gzip.",
            required(), non_empty()),
      field("eval_file", &Text::eval_file, "Another text or folder to evaluate on."),
      field("text", &Text::text, "Column of JSON lines with the text; default: \"text\".", non_empty()),
      field("split", &Text::split,
            "Without `eval_file`: this share of the text, at its end, becomes the validation set (default "
            "0.1).",
            above(0), below(1)),
      field("tokenizer", &Text::tokenizer, "How text becomes tokens."),
      field("length", &Text::length, "Tokens per example.", within(1, 1 << 24)),
      field("random_offset", &Text::random_offset,
            "In training, windows start at random positions, different ones in every epoch; if false, each "
            "window starts where the one before it ends, as in evaluation."),
      field("fallback", &Text::fallback, "What to do if `file` is missing."));
}

void check(const Text& settings, Report& report) {
  if (settings.split && settings.eval_file) report.error("split", "cannot be combined with eval_file");
  if (!settings.tokenizer.facts().reversible) {
    report.error("tokenizer", "cannot be " + in_quotes(settings.tokenizer.name()) +
                                  ", which loses what is between the words and is for text_classification "
                                  "only; use char, bpe or byte");
  }
}

// Windows of tokens; the target of each token is the next one. In training an epoch has as many windows as
// fit side by side. Evaluation covers every token: the last window is padded with targets that losses ignore.
class TextSplit final : public Split {
 public:
  TextSplit(DataSpec spec, TokenStore tokens, Phase phase, bool random_offset, std::optional<Token> unknown)
      : spec_(std::move(spec)),
        tokens_(std::move(tokens)),
        length_(spec_.input_shape.front()),
        size_((tokens_.size() - 1 + (phase == Phase::evaluation ? length_ - 1 : 0)) / length_),
        random_offset_(random_offset),
        unknown_(unknown) {}

  std::int64_t size() const override { return size_; }
  DataSpec spec() const override { return spec_; }
  bool examples_are_fixed() const override { return !random_offset_; }
  SplitDetails details() const override {
    // Only the last window of an evaluation is shorter than the others.
    const auto untruncated_length = [this](std::int64_t index) {
      return random_offset_ ? length_ : std::min(length_, tokens_.size() - 1 - index * length_);
    };
    return {.unknown_token = unknown_, .untruncated_length = untruncated_length};
  }

  void read(std::span<const ExampleRef> examples, Batch& batch, std::int64_t first) const override {
    auto* input = batch.input.data_ptr<std::int64_t>() + first * length_;
    auto* target = batch.target.data_ptr<std::int64_t>() + first * length_;
    for (const ExampleRef& example : examples) {
      const std::int64_t start = random_offset_ ? ExampleRandom(example.seed).below(tokens_.size() - length_)
                                                : example.index * length_;
      const std::int64_t count = std::min(length_, tokens_.size() - 1 - start);
      tokens_.copy(start, count, input);
      tokens_.copy(start + 1, count, target);
      std::fill(input + count, input + length_, 0);
      std::fill(target + count, target + length_, ignored_label);
      input += length_;
      target += length_;
    }
  }

 private:
  DataSpec spec_;
  TokenStore tokens_;
  std::int64_t length_, size_;
  bool random_offset_;
  std::optional<Token> unknown_;
};

class TextInterpreter final : public Interpreter {
 public:
  explicit TextInterpreter(std::unique_ptr<Tokenizer> tokenizer) : tokenizer_(std::move(tokenizer)) {}

  std::vector<std::int64_t> tokens(std::string_view text) const override {
    check_utf8(text, "The prompt");
    std::vector<Token> tokens;
    tokenizer_->encode(text, tokens);
    return {tokens.begin(), tokens.end()};
  }
  Batch read(std::span<const std::string>) const override {
    throw DataError("A language model continues a text, with `runner sample`: it has no classes to predict.");
  }
  std::string text(std::span<const std::int64_t> tokens) const override {
    return tokenizer_->decode(in_vocabulary(*tokenizer_, tokens));
  }
  // What models call the token between two texts.
  std::vector<std::int64_t> ends() const override {
    std::vector<std::int64_t> ends;
    for (const char* usual : {"<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>", "<|end|>"})
      if (const auto token = tokenizer_->find(usual); token && tokenizer_->is_special(*token))
        ends.push_back(*token);
    return ends;
  }

 private:
  std::unique_ptr<Tokenizer> tokenizer_;
};

struct Parts {
  std::shared_ptr<const TextFile> train_file, eval_file;
  std::string_view train, eval;
};

class TextDataset final : public Dataset {
 public:
  TextDataset(const Text& settings, std::string learned)
      : settings_(settings), learned_(std::move(learned)) {}

  // Reads the text only if the tokenizer does not know its vocabulary in advance, as for characters. For a
  // vocabulary that is still to be learnt, this is its maximum size.
  DataSpec spec() const override {
    if (facts_.vocabulary > 0) return spec_of(facts_.vocabulary);
    return spec_of((facts_.learns ? tokenizer(parts()) : settings_.tokenizer.build({}))->vocabulary());
  }

  Splits open(const TransformPipeline&) const override {
    const Parts texts = parts();
    const auto chosen = tokenizer(texts);
    const DataSpec data = spec_of(chosen->vocabulary());
    Splits splits;
    splits.train =
        std::make_unique<TextSplit>(data, windows(*chosen, texts.train, texts.train_file, Phase::training),
                                    Phase::training, settings_.random_offset, chosen->unknown());
    splits.eval =
        std::make_unique<TextSplit>(data, windows(*chosen, texts.eval, texts.eval_file, Phase::evaluation),
                                    Phase::evaluation, false, chosen->unknown());
    splits.learned = chosen->json();
    if (generated()) splits.stand_in = generated_stand_in(settings_.file.string());
    return splits;
  }

  std::unique_ptr<Interpreter> interpreter(const TransformPipeline&,
                                           const std::string& learned) const override {
    return std::make_unique<TextInterpreter>(settings_.tokenizer.build({.learned = learned}));
  }

 private:
  bool generated() const {
    return settings_.fallback == TextFallback::generated && is_missing(settings_.file);
  }

  TextFile open(const std::filesystem::path& file) const {
    return {file, settings_.text, /*raw=*/facts_.bytes};
  }

  Parts parts() const {
    Parts texts;
    texts.train_file = std::make_shared<TextFile>(generated() ? TextFile::generated() : open(settings_.file));
    texts.train = texts.train_file->text();
    if (settings_.eval_file && !generated()) {
      texts.eval_file = std::make_shared<TextFile>(open(*settings_.eval_file));
      texts.eval = texts.eval_file->text();
    } else {
      const double share = settings_.split.value_or(default_split);
      const auto end = static_cast<std::size_t>(static_cast<double>(texts.train.size()) * (1 - share));
      const std::size_t cut = character_start(texts.train, end);
      texts.eval = texts.train.substr(cut);
      texts.train = texts.train.substr(0, cut);
      texts.eval_file = texts.train_file;
    }
    if (!facts_.bytes) {
      check_utf8(texts.train_file->text(), texts.train_file->path());
      if (texts.eval_file != texts.train_file) check_utf8(texts.eval_file->text(), texts.eval_file->path());
    }
    return texts;
  }

  std::unique_ptr<Tokenizer> tokenizer(const Parts& texts) const {
    return cached_tokenizer(settings_.tokenizer,
                            {.texts = {texts.train}, .others = {texts.eval}, .learned = learned_});
  }

  // The vocabulary of a run may lack characters of another text that it is evaluated on.
  static TokenStore encoded(const Tokenizer& chosen, std::string_view text, const std::string& place) {
    try {
      return cached_tokens(chosen, text);
    } catch (const DataError& error) {
      throw DataError(place + ": " + error.what());
    }
  }

  DataSpec spec_of(std::int64_t vocabulary) const {
    DataSpec spec;
    spec.input_shape = spec.target_shape = {settings_.length};
    spec.input_type = torch::kInt64;
    spec.classes = spec.vocabulary = vocabulary;
    return spec;
  }

  // Training needs a full window; for evaluation one token and the next are enough.
  TokenStore windows(const Tokenizer& chosen, std::string_view text, std::shared_ptr<const TextFile> file,
                     Phase phase) const {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
    const std::string place = file->path().string();
    TokenStore tokens = facts_.bytes ? TokenStore(std::span(bytes, text.size()), std::move(file), 256)
                                     : encoded(chosen, text, place);
    const bool training = phase == Phase::training;
    const std::int64_t least = training ? settings_.length + 1 : 2;
    if (tokens.size() >= least) return tokens;
    const char* remedy = training              ? "Lower dataset.length, or give"
                         : settings_.eval_file ? "Give"
                                               : "Raise dataset.split, or give";
    throw DataError(place + " is too short: it has " +
                    counted(static_cast<std::size_t>(tokens.size()), "token") + " to " +
                    (training ? "train on" : "evaluate with") + ", but " + std::to_string(least) +
                    " are needed. " + remedy + " more text.");
  }

  Text settings_;
  std::string learned_;  // by the run that is evaluated; empty: this one learns
  TokenizerFacts facts_ = settings_.tokenizer.facts();
};

DatasetFacts facts(const Text&) { return {.tasks = {Task::language_model}}; }

std::unique_ptr<Dataset> build(const Text& settings, const DatasetInputs& inputs) {
  return std::make_unique<TextDataset>(settings, inputs.learned);
}

const Registration<DatasetKind> registration{
    "text", "Text for language models: windows of tokens; each token is predicted from those before it.",
    &build};

}  // namespace

}  // namespace runner
