#include "components/datasets/stand_in.hpp"

#include "registry/base/wording.hpp"

namespace runner {

namespace {

std::string examples_of(const DataSpec& spec) {
  std::vector<std::string> sizes;
  for (const std::int64_t size : spec.input_shape) sizes.push_back(std::to_string(size));
  return joined(sizes, " x ") + " in " + std::to_string(spec.classes) + " classes";
}

}  // namespace

std::unique_ptr<Dataset> build_stand_in(const std::optional<Part<DatasetKind>>& fallback,
                                        const DatasetInputs& inputs, const DataSpec& wanted,
                                        const std::string& title) {
  if (!fallback) return nullptr;
  auto dataset = fallback->build(inputs);
  const DataSpec given = dataset->spec();
  if (given.input_shape == wanted.input_shape && given.input_type == wanted.input_type &&
      given.target_shape == wanted.target_shape && given.classes == wanted.classes &&
      given.images == wanted.images) {
    return dataset;
  }
  throw DataError("dataset.fallback: " + in_quotes(fallback->name()) + " gives examples of " +
                  examples_of(given) + " and cannot stand in for " + title + ", which has " +
                  examples_of(wanted) + ".");
}

void check_stand_in(const std::optional<Part<DatasetKind>>& fallback, Report& report) {
  if (!fallback) return;
  const DatasetCommon& own = fallback->common;
  if (!own.transform.empty())
    report.error("fallback", "takes the transforms of the dataset it stands in for and cannot have its own");
  if (own.validation || own.train_limit || own.eval_limit || own.example_seed)
    report.error("fallback", "is split and limited as the dataset it stands in for: set it there");
}

Splits open_stand_in(const Dataset* stand_in, const std::string& name, const TransformPipeline& transforms,
                     const DataMissing& reason, const std::string& example) {
  if (!stand_in) {
    throw DataError(std::string(reason.what()) +
                    " To try the recipe without the data: dataset.fallback = " + example);
  }
  Splits splits = stand_in->open(transforms);
  const std::string own_reason = splits.stand_in.empty() ? "" : " " + splits.stand_in;
  splits.stand_in = "The dataset " + in_quotes(name) +
                    " stands in, so the results say nothing about the real data. " + reason.what() +
                    own_reason;
  return splits;
}

}  // namespace runner
