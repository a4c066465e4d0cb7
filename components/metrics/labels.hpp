#pragma once

#include "components/contract/batch.hpp"
#include "components/contract/state.hpp"
#include "components/contract/targets.hpp"

namespace runner {

// The right class of each example, as int64, in the shape of the outputs without the class dimension. Targets
// that are shares of classes (from mixup) count as the class with the largest share.
torch::Tensor labels_of(const torch::Tensor& target, const torch::Tensor& output);

// Whether there is one score per example, [examples] or [examples, 1], as bce_with_logits trains it: there
// are two classes, and a score above 0 means class 1.
bool is_one_score(const torch::Tensor& output);
std::int64_t classes_of(const torch::Tensor& output);

// Throws if a label is none of the classes and not ignored: it would be counted as another class, or as a
// mistake of the model. Waits for the device.
void require_known_labels(const torch::Tensor& labels, std::int64_t classes, std::int64_t ignore_index);

// The predicted and the right class of each example, for any kind of output, after this check.
struct Answers {
  torch::Tensor answers;
  torch::Tensor labels;
};
Answers answers_of(const torch::Tensor& output, const torch::Tensor& target, std::int64_t ignore_index);

// One row per example or pixel: the score of each class, and the label, after this check. Outputs [examples,
// classes, ..] have their classes moved to the end; with one score per example there is one column.
struct Rows {
  torch::Tensor scores;  // [rows, classes or 1], float64
  torch::Tensor labels;  // [rows]
};
Rows rows_of(const torch::Tensor& output, const torch::Tensor& target, std::int64_t ignore_index);

// Whether the task is multi-label: several binary targets per example. Outputs and targets have the same
// shape, [examples, labels, ..]; a score above 0 means yes.
bool several_labels(std::optional<Targets> targets, const torch::Tensor& output);

struct LabelRows {
  torch::Tensor scores;   // [rows, labels], float64
  torch::Tensor yes;      // [rows, labels], boolean
  torch::Tensor counted;  // [rows, labels], boolean: not ignored

  torch::Tensor answers() const { return scores.gt(0); }
};
LabelRows label_rows(const torch::Tensor& output, const torch::Tensor& target, std::int64_t ignore_index);

// The share of hits, summed on the tensors' device: nothing waits for the device until share() is called.
class HitCounts {
 public:
  void add(const torch::Tensor& hit, const torch::Tensor& counted);  // booleans of the same shape
  double share() const;                                              // 0 if nothing was counted

  State state() const;
  void merge(const State& other);

 private:
  torch::Tensor hits_;  // undefined before the first batch
  torch::Tensor total_;
};

}  // namespace runner
