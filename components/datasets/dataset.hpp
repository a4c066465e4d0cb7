#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "components/contract/batch.hpp"
#include "components/contract/data_error.hpp"
#include "components/contract/data_spec.hpp"
#include "components/contract/task.hpp"
#include "components/transforms/transform.hpp"
#include "registry/component.hpp"

namespace runner {

// One example of one epoch: its index, and the seed for all its random choices, which depends only on (run
// seed, epoch, index).
struct ExampleRef {
  std::int64_t index = 0;
  std::uint64_t seed = 0;
};

// A column of a table as it is in the file, before missing values are filled in.
struct ColumnDetails {
  std::string name;
  double gaps = 0;                       // share of the examples that have no value
  double mean = 0, deviation = 1;        // the file has `input * deviation + mean`
  double fill = 0;                       // in the file's units, what replaces missing values
  std::vector<std::string> values = {};  // names of categories; their ids begin at 1, 0 is unknown or missing
};

// Something that is wrong with some examples, for `runner data`: a sentence, and where the first of them are.
struct ExampleFault {
  std::string text;
  std::vector<std::string> places = {};
};

// An example as tokens, each with its text and whether the model is trained to predict it.
struct ShownTokens {
  std::string place = {};
  std::vector<std::int64_t> ids = {};
  std::vector<std::string> texts = {};
  std::vector<bool> trained = {};
};

// Details for `runner data` that the tensors do not show. All of them are optional.
struct SplitDetails {
  std::vector<ColumnDetails> columns = {};         // one for each entry of the input
  std::vector<ColumnDetails> categories = {};      // one for each entry of the batch's extra "categories"
  std::optional<std::int64_t> unknown_token = {};  // the token for text outside the vocabulary
  // By column: the share of the examples whose category the training set does not have.
  std::vector<std::pair<std::string, double>> unknown_categories = {};
  // The tokens of an example before it is truncated or padded. May be called while the Split exists.
  std::function<std::int64_t(std::int64_t)> untruncated_length = {};
  std::vector<std::string> remarks = {};  // on problems of the data, as sentences
  std::vector<std::string> notes = {};    // what is worth knowing, as sentences
  std::vector<ExampleFault> faults = {};  // with any of them, `runner data` fails
};

// One part of a dataset, with random access. Several threads call it at once.
class Split {
 public:
  virtual ~Split() = default;

  virtual std::int64_t size() const = 0;
  virtual DataSpec spec() const = 0;  // after transforms
  virtual SplitDetails details() const { return {}; }

  // Allocates a batch for this many examples, in the memory layout in which it will be used.
  virtual Batch allocate(std::int64_t examples, torch::MemoryFormat format) const;
  // Writes the examples to consecutive positions of the batch, starting at `first`. Throws DataError, naming
  // the file, if an example is broken.
  virtual void read(std::span<const ExampleRef> examples, Batch& batch, std::int64_t first) const = 0;
  // Called when all examples of the batch are written: applies the transforms that change whole batches. The
  // seed is for this batch.
  virtual void finish(Batch& /*batch*/, std::uint64_t /*seed*/) const {}

  // The class of an example, if it has one that is known without reading the example.
  virtual std::optional<std::int64_t> class_of(std::int64_t /*index*/) const { return std::nullopt; }
  // An example of which only some tokens are trained on.
  virtual std::optional<ShownTokens> tokens_of(std::int64_t /*index*/) const { return std::nullopt; }
  // Whether an index always gives the same data; false for text that is read at random positions.
  virtual bool examples_are_fixed() const { return true; }
};

struct Splits {
  std::unique_ptr<Split> train;
  std::unique_ptr<Split> eval;
  std::string learned = {};   // what was learnt from the training data and is needed to read other inputs: a
                              // vocabulary, column statistics. JSON; saved as dataset.json of the run
  std::string stand_in = {};  // why other data is used than the recipe names; empty if it is not
};

// Converts user input in the same way as the training data, without that data: for `predict` and `sample`.
class Interpreter {
 public:
  virtual ~Interpreter() = default;

  // Image files, table rows or sentences: one batch without targets. Throws DataError, naming the input.
  virtual Batch read(std::span<const std::string> inputs) const;
  // The inputs in a file of the kind that the run was trained on, such as the texts of a table; no value if a
  // file is itself an input, or none. Throws DataError, naming the file.
  virtual std::optional<std::vector<std::string>> inputs_in(const std::filesystem::path& file) const;
  // Text as tokens, and back.
  virtual std::vector<std::int64_t> tokens(std::string_view text) const;
  virtual std::string text(std::span<const std::int64_t> tokens) const;
  // What a model is asked to continue when it is to answer these messages, a row of chat data in JSON.
  virtual std::vector<std::int64_t> chat(std::string_view messages) const;
  // A generated text is over after any of these tokens.
  virtual std::vector<std::int64_t> ends() const { return {}; }
};

// Examples for training and evaluation.
//   struct MyData { std::filesystem::path file; };
//   constexpr auto describe(std::type_identity<MyData>) {
//     return fields(field("file", &MyData::file, "File with the examples.", required()));
//   }
//   class Examples final : public Dataset { .. };  // spec(), and open(), which returns two Splits
//   std::unique_ptr<Dataset> build(const MyData& settings, const DatasetInputs&) {
//     return std::make_unique<Examples>(settings.file);
//   }
//   const Registration<DatasetKind> registration{"my_data", "Examples from one file.", &build};
class Dataset {
 public:
  virtual ~Dataset() = default;

  virtual DataSpec spec() const = 0;  // before transforms, without reading data
  // Reads or downloads the data. Throws DataError with the place and the remedy if that fails. The pipeline
  // is built for spec(); splits keep what they need of it.
  virtual Splits open(const TransformPipeline& transforms) const = 0;
  // Whether the data is on this machine; false: open() would download it.
  virtual bool at_hand() const { return true; }
  // `learned` is Splits::learned of the run that trained the model.
  virtual std::unique_ptr<Interpreter> interpreter(const TransformPipeline& transforms,
                                                   const std::string& learned) const;
};

// To evaluate a run, a dataset gets what the run learnt, and uses it instead of learning again: the training
// files may be others now. Both are empty for a new run.
struct DatasetInputs {
  std::uint64_t seed = 0;
  std::string learned = {};               // Splits::learned
  std::vector<std::string> classes = {};  // DataSpec::class_names
};

struct DatasetCommon {
  std::vector<Part<TransformKind>> transform = {};
  std::optional<double> validation = {};
  std::optional<std::int64_t> train_limit = {};
  std::optional<std::int64_t> eval_limit = {};
  std::optional<std::int64_t> example_seed = {};
};
constexpr auto describe(std::type_identity<DatasetCommon>) {
  return fields(
      field("transform", &DatasetCommon::transform,
            "What happens to each image, in order. Random ones act in training only."),
      field(
          "validation", &DatasetCommon::validation,
          "Use this share of the training examples as the validation set, instead of training on them. What "
          "the dataset learns from its training set, such as means or a vocabulary, still includes them. The "
          "dataset's own validation set is then the test set, for the end: runner eval RUN "
          "~dataset.validation.",
          above(0), below(1)),
      field("train_limit", &DatasetCommon::train_limit,
            "Use only N training examples: a random sample, with the same share of each class.",
            within(1, 1e12)),
      field("eval_limit", &DatasetCommon::eval_limit,
            "Use only N validation examples, chosen in the same way.", within(1, 1e12)),
      field("example_seed", &DatasetCommon::example_seed,
            "Seed of the choice of examples for validation, train_limit and eval_limit; default: 1. run.seed "
            "does not change them.",
            within(0, 9007199254740991)));
}
void check(const DatasetCommon& common, Report& report);

struct DatasetKind {
  static constexpr std::string_view name = "dataset";
  static constexpr std::string_view summary = "Examples to train on and to evaluate with.";
  static constexpr KindOnResume on_resume{.part = OnResume::course, .parameters = OnResume::course};
  using Product = Dataset;
  using Inputs = DatasetInputs;
  using Common = DatasetCommon;
  using Facts = DatasetFacts;
};

}  // namespace runner
