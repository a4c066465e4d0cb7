#pragma once

#include "components/contract/batch.hpp"
#include "components/contract/state.hpp"
#include "components/contract/targets.hpp"

namespace runner {

// The right class of each example, in the shape of the outputs without the class dimension. Targets that are
// shares of classes (from mixup) count as the class with the largest share.
torch::Tensor labels_of(const torch::Tensor& target, const torch::Tensor& output);

// One score for each example, [examples] or [examples, 1], as bce_with_logits trains it: above 0 means class
// 1, and there are two classes.
bool is_one_score(const torch::Tensor& output);
std::int64_t classes_of(const torch::Tensor& output);

// What the model answers and what is right, as classes: whatever the kind of output.
struct Answers {
  torch::Tensor answers;
  torch::Tensor labels;
};
Answers answers_of(const torch::Tensor& output, const torch::Tensor& target);

// A row of numbers for each example or pixel, one for each class, with its label: outputs [examples, classes,
// ..] with the classes moved to the end; one column where there is one score for each example.
struct Rows {
  torch::Tensor scores;  // [rows, classes or 1], float64
  torch::Tensor labels;  // [rows]
};
Rows rows_of(const torch::Tensor& output, const torch::Tensor& target);

// Several answers of yes or no for each example: multi-label. Outputs and targets have one shape, [examples,
// labels, ..]; an answer is yes where its score is above 0.
bool several_labels(std::optional<Targets> targets, const torch::Tensor& output);

struct LabelRows {
  torch::Tensor scores;   // [rows, labels], float64
  torch::Tensor yes;      // [rows, labels], boolean
  torch::Tensor counted;  // [rows, labels], boolean: not to be ignored

  torch::Tensor answers() const { return scores.gt(0); }
};
LabelRows label_rows(const torch::Tensor& output, const torch::Tensor& target, std::int64_t ignore_index);

// How many of how many, summed where the tensors are: nothing waits for the device until share() is asked.
class HitCounts {
 public:
  void add(const torch::Tensor& hit, const torch::Tensor& counted);  // booleans of one shape
  double share() const;                                              // 0 where nothing was counted

  State state() const;
  void merge(const State& other);

 private:
  torch::Tensor hits_;  // undefined before the first batch
  torch::Tensor total_;
};

}  // namespace runner
