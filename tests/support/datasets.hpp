// A dataset as a recipe gives it, opened, and one example of it as the loader gets it.
#pragma once

#include <memory>
#include <string>

#include "components/datasets/dataset.hpp"
#include "tests/support/parts.hpp"

namespace runner::testing {

inline std::unique_ptr<Dataset> dataset(std::string name, const Settings& settings = {},
                                        std::uint64_t seed = 0) {
  return part<DatasetKind>(std::move(name), settings).build({seed});
}

// With the transforms of its settings, as the runner does it.
inline Splits open(std::string name, const Settings& settings = {}, std::uint64_t seed = 0) {
  const auto described = part<DatasetKind>(std::move(name), settings);
  const auto built = described.build({seed});
  return built->open(build_pipeline(described.common.transform, built->spec()));
}

// As `runner eval` opens it, for a run that learnt from these splits.
inline Splits open_for_run(std::string name, const Settings& settings, const Splits& run) {
  const auto built =
      part<DatasetKind>(std::move(name), settings).build({0, run.learned, run.train->spec().class_names});
  return built->open({});
}

inline Batch read(const Split& split, const std::vector<std::int64_t>& indices,
                  torch::MemoryFormat format = torch::MemoryFormat::Contiguous) {
  std::vector<ExampleRef> samples;
  for (const std::int64_t index : indices) samples.push_back({index, static_cast<std::uint64_t>(index)});
  Batch batch = split.allocate(static_cast<std::int64_t>(samples.size()), format);
  split.read(samples, batch, 0);
  return batch;
}

inline std::int64_t label(const Split& split, std::int64_t index) {
  return read(split, {index}).target.item<std::int64_t>();
}

}  // namespace runner::testing
