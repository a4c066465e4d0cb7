#include "runner/engine/strategies/together.hpp"

#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "registry/base/log.hpp"
#include "registry/base/wording.hpp"
#include "registry/files/read_json.hpp"
#include "runner/engine/strategies/flat_tensors.hpp"

namespace runner {

namespace {

std::int64_t hash_of(const torch::Tensor& tensor) {
  const torch::Tensor bytes = tensor.detach().to(torch::kCPU).contiguous();
  return static_cast<std::int64_t>(
      std::hash<std::string_view>{}({static_cast<const char*>(bytes.const_data_ptr()), bytes.nbytes()}));
}

// The entries of a state and of its parts, to read and to replace. Texts describe; they do not change.
struct Entries {
  std::vector<torch::Tensor> tensors;
  std::vector<std::int64_t*> integers;
  std::vector<double*> numbers;

  void add(State& state) {
    for (auto& [name, tensor] : state.tensors) tensors.push_back(tensor);
    for (auto& [name, integer] : state.integers) integers.push_back(&integer);
    for (auto& [name, number] : state.numbers) numbers.push_back(&number);
    for (auto& [name, part] : state.parts) add(part);
  }
};

template <class Number>
void broadcast_numbers(World& world, const std::vector<Number*>& places, int from, std::string_view what) {
  if (places.empty()) return;
  const torch::Tensor numbers =
      torch::empty({static_cast<std::int64_t>(places.size())}, c10::CppTypeToScalarType<Number>::value);
  auto* const values = numbers.mutable_data_ptr<Number>();
  for (std::size_t i = 0; i < places.size(); ++i) values[i] = *places[i];
  world.broadcast(numbers, from, what);
  for (std::size_t i = 0; i < places.size(); ++i) *places[i] = values[i];
}

std::string list_of(const std::vector<int>& ranks) {
  std::vector<std::string> numbers;
  for (const int rank : ranks) numbers.push_back(std::to_string(rank));
  return (ranks.size() == 1 ? "rank " : "ranks ") + joined(numbers);
}

}  // namespace

namespace {

// Tensors are copied to be sent at once, which takes memory. A larger one is sent alone and, if its elements
// are in order, without a copy.
constexpr std::size_t most_bytes_of_a_message = std::size_t{64} << 20;

void broadcast_message(World& world, const std::vector<torch::Tensor>& tensors, int from,
                       std::string_view what) {
  // As bytes: Gloo does not know every number format.
  if (tensors.size() == 1 && tensors[0].is_contiguous())
    return world.broadcast(tensors[0].detach().view(-1).view(torch::kUInt8), from, what);
  std::int64_t elements = 0;
  for (const torch::Tensor& tensor : tensors) elements += tensor.numel();
  const torch::Tensor flat = world.rank() == from
                                 ? flattened(tensors)
                                 : torch::empty({elements}, tensors[0].options().requires_grad(false));
  world.broadcast(flat.view(torch::kUInt8), from, what);
  if (world.rank() != from) copy_from_flat(flat, tensors);
}

}  // namespace

void broadcast_together(World& world, const std::vector<torch::Tensor>& tensors, int from,
                        std::string_view what) {
  if (world.alone()) return;
  const torch::NoGradGuard no_grad;
  std::map<torch::ScalarType, std::vector<torch::Tensor>> by_type;
  for (const torch::Tensor& tensor : tensors) by_type[tensor.scalar_type()].push_back(tensor);
  for (const auto& [type, group] : by_type) {
    std::vector<torch::Tensor> message;
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < group.size(); ++i) {
      message.push_back(group[i]);
      bytes += group[i].nbytes();
      const bool full = i + 1 == group.size() || bytes + group[i + 1].nbytes() > most_bytes_of_a_message;
      if (!full) continue;
      broadcast_message(world, std::exchange(message, {}), from, what);
      bytes = 0;
    }
  }
}

void share_state(World& world, Stateful& object, int from, std::string_view what) {
  if (world.alone()) return;
  State state = object.save();
  Entries entries;
  entries.add(state);
  broadcast_together(world, entries.tensors, from, what);
  broadcast_numbers(world, entries.integers, from, what);
  broadcast_numbers(world, entries.numbers, from, what);
  if (world.rank() != from) object.load(state);
}

void require_equal(World& world, const std::vector<NamedTensor>& tensors, std::string_view what) {
  if (world.alone()) return;
  std::vector<std::int64_t> hashes;
  for (const NamedTensor& tensor : tensors) hashes.push_back(hash_of(tensor.tensor));
  const std::vector<torch::Tensor> all =
      world.gather(torch::tensor(hashes, torch::kInt64), log::format("checksums of {}", what));
  for (int rank = 1; rank < world.size(); ++rank) {
    const torch::Tensor &own = all[0], &other = all[static_cast<std::size_t>(rank)];
    if (own.numel() != other.numel())
      throw RankError(
          log::format("Rank {} has {} tensors ({}), rank 0 has {}.", rank, other.numel(), what, own.numel()));
    for (std::int64_t i = 0; i < own.numel(); ++i) {
      if (own[i].item<std::int64_t>() != other[i].item<std::int64_t>())
        throw RankError(log::format("Rank {} and rank 0 differ in \"{}\" ({}).", rank,
                                    tensors[static_cast<std::size_t>(i)].name, what));
    }
  }
}

void require_equal(World& world, const Claims& claims) {
  if (world.alone()) return;
  const auto all = world.gather_texts(
      nlohmann::json(claims).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace),
      "what every rank must have in common");
  std::map<std::string, std::map<std::string, std::vector<int>>> by_name;
  for (int rank = 0; rank < world.size(); ++rank) {
    const auto theirs = read_json(all[static_cast<std::size_t>(rank)]).get<Claims>();
    for (const auto& [name, value] : theirs) by_name[name][value].push_back(rank);
  }
  std::string differences;
  for (const auto& [name, values] : by_name) {
    std::vector<int> without;
    for (int rank = 0; rank < world.size(); ++rank) {
      const auto has_it = [&](const auto& entry) { return std::ranges::binary_search(entry.second, rank); };
      if (std::ranges::none_of(values, has_it)) without.push_back(rank);
    }
    if (values.size() == 1 && without.empty()) continue;
    differences += "\n  " + name + ":";
    for (const auto& [value, ranks] : values) differences += log::format(" {} on {};", value, list_of(ranks));
    if (!without.empty()) differences += log::format(" missing on {};", list_of(without));
    differences.back() = '.';
  }
  if (!differences.empty())
    throw RankError("The ranks do not have the same settings, versions and data:" + differences);
}

}  // namespace runner
