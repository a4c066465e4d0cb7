#include "runner/train/equal_ranks.hpp"

#include <torch/types.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "registry/base/log.hpp"
#include "registry/files/sha256.hpp"
#include "runner/engine/strategies/together.hpp"
#include "runner/runs/data_spec_file.hpp"
#include "runner/runs/run_result.hpp"

namespace runner {

namespace {

std::string fingerprint(const std::string& text) { return sha256_hex(text).substr(0, 12); }

// One claim for each value: {"optimizer.lr", "0.1"}. Secrets may differ: rank 0 alone may have the key of a
// tracker.
void claim_settings(const Value& value, const std::string& path, Claims& claims) {
  if (value.secret) return;
  if (const Table* table = value.as<Table>()) {
    for (const Member& member : *table) claim_settings(member.value, key_below(path, member.key), claims);
  } else if (const Array* array = value.as<Array>(); array && !array->empty()) {
    for (std::size_t i = 0; i < array->size(); ++i)
      claim_settings((*array)[i], key_below(path, std::to_string(i)), claims);
  } else {
    const std::string text = to_toml(value);
    claims.emplace_back(path,
                        value.from_environment ? "from the environment, hash " + fingerprint(text) : text);
  }
}

double mean_of(const torch::Tensor& tensor) {
  return tensor.defined() && tensor.numel() > 0 ? tensor.to(torch::kFloat64).mean().item<double>() : 0;
}

// A few numbers that are unlikely to be the same for other files. NaN for an example that cannot be read,
// which some recipes skip.
torch::Tensor probe(const Split& split) {
  constexpr std::int64_t most = 8;
  const std::int64_t count = std::min(most, split.size());
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < count; ++i) {
    const ExampleRef example{i * split.size() / count, /*seed=*/1};
    Batch batch = split.allocate(1, torch::MemoryFormat::Contiguous);
    try {
      split.read({&example, 1}, batch, 0);
      numbers.insert(numbers.end(), {mean_of(batch.input), mean_of(batch.target)});
    } catch (const DataError&) {
      numbers.insert(numbers.end(), 2, std::numeric_limits<double>::quiet_NaN());
    }
  }
  return torch::tensor(numbers, torch::kFloat64);
}

// Not compared bit by bit: processors differ in how they round.
void require_equal_examples(World& world, const Split& split, const std::string& set) {
  const auto probes = world.gather(probe(split), "some examples");
  for (int rank = 1; rank < world.size(); ++rank) {
    constexpr double relative = 1e-3, absolute = 1e-6;
    if (torch::allclose(probes[0], probes[static_cast<std::size_t>(rank)], relative, absolute,
                        /*equal_nan=*/true))
      continue;
    throw RankError(log::format(
        "Rank {} has other examples in its {} set than rank 0: give all ranks the same files.", rank, set));
  }
}

}  // namespace

void require_equal_recipes(World& world, const Value& resolved, const Registry& registry) {
  if (world.alone()) return;
  Claims claims;
  claim_settings(resolved, "", claims);
  for (const auto& [name, version] : versions()) claims.emplace_back("version of " + name, version);
  for (const Library* library : registry.libraries())
    claims.emplace_back("plugin " + std::filesystem::path(library->path).filename().string(),
                        "hash " + library->sha256.substr(0, 12));
  require_equal(world, claims);
}

void require_equal_data(World& world, const Splits& data) {
  if (world.alone()) return;
  const std::int64_t evaluated = data.eval ? data.eval->size() : 0;
  require_equal(
      world, {{"training examples", std::to_string(data.train->size())},
              {"validation examples", std::to_string(evaluated)},
              {"shapes and classes of the data", "hash " + fingerprint(write_data_spec(data.train->spec()))},
              {"what the dataset learnt", "hash " + fingerprint(data.learned)}});
  require_equal_examples(world, *data.train, "training");
  if (evaluated > 0) require_equal_examples(world, *data.eval, "validation");
}

}  // namespace runner
