#include "runner/accelerator/prepared_loader.hpp"

#include <algorithm>

namespace runner {

namespace {

// The first row of each rank, and the end of the last one's.
std::int64_t begin_of(std::int64_t rank, std::int64_t ranks, std::int64_t examples) {
  return examples * rank / ranks;
}

}  // namespace

Rows RowShare::rows(std::int64_t examples) const {
  Rows rows;
  if (even) {
    const std::int64_t each = (examples + ranks - 1) / ranks;
    for (std::int64_t row = rank * each; row < (rank + 1) * each; ++row) rows.push_back(row % examples);
    return rows;
  }
  const std::int64_t end = begin_of(rank + 1, ranks, examples);
  for (std::int64_t row = begin_of(rank, ranks, examples); row < end; ++row) rows.push_back(row);
  if (rows.empty()) rows.push_back(0);
  return rows;
}

BatchFacts RowShare::facts(std::int64_t examples) const {
  BatchFacts facts{.examples = examples};
  if (even) {
    const std::int64_t each = (examples + ranks - 1) / ranks;
    facts.own = each;
    facts.rows = each * ranks;
    if (facts.rows > examples)
      for (std::int64_t row = 0; row < examples; ++row) facts.counted.push_back(row);
    return facts;
  }
  for (std::int64_t of = 0; of < ranks; ++of) {
    const std::int64_t count = begin_of(of + 1, ranks, examples) - begin_of(of, ranks, examples);
    if (of == rank) facts.own = count;
    for (std::int64_t row = 0; row < count; ++row) facts.counted.push_back(facts.rows + row);
    facts.rows += std::max<std::int64_t>(count, 1);
  }
  if (facts.rows == examples) facts.counted.clear();
  facts.weight = static_cast<double>(facts.own * ranks) / static_cast<double>(examples);
  return facts;
}

State LoaderPlace::save() const {
  return {.integers = {{"epoch", epoch}, {"position", position}, {"ranks", ranks}}};
}

void LoaderPlace::load(const State& state) {
  StateReader saved(state);
  epoch = saved.integer("epoch");
  const std::int64_t each = saved.integer("position"), of = saved.integer("ranks");
  saved.finish();
  std::int64_t batches = 0;
  if (__builtin_mul_overflow(each, of, &batches) || each < 0 || of < 1)
    throw StateError("\"position\" or \"ranks\" is out of range");
  if (batches % ranks != 0)
    throw StateError("it was saved in the middle of a pass, after " + std::to_string(batches) +
                     " batches, which is not a whole number for each of " + std::to_string(ranks) +
                     " ranks: use as many ranks as before (" + std::to_string(of) +
                     "), or a state that was saved between two passes");
  position = batches / ranks;
}

}  // namespace runner
