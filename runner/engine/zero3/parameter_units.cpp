#include "runner/engine/zero3/parameter_units.hpp"

#include <torch/nn/modules/embedding.h>

#include <algorithm>
#include <set>

namespace runner {

namespace {

using Parameters = std::vector<NamedTensor>;

std::uint64_t bytes_of(const Parameters& parameters) {
  std::uint64_t bytes = 0;
  for (const NamedTensor& each : parameters) bytes += each.tensor.nbytes();
  return bytes;
}

bool alike(const torch::Tensor& one, const torch::Tensor& other) {
  return one.scalar_type() == other.scalar_type() && one.device() == other.device();
}

class Cutter {
 public:
  explicit Cutter(std::uint64_t most) : most_(most) {}

  void walk(const torch::nn::Module& module, const std::string& prefix) {
    if (Parameters all = named(module, prefix, /*recurse=*/true); bytes_of(all) <= most_) {
      add(std::move(all));
      return;
    }
    for (NamedTensor& own : named(module, prefix, /*recurse=*/false)) add({std::move(own)});
    for (const auto& child : module.named_children()) walk(*child.value(), prefix + child.key() + ".");
  }

  std::vector<Parameters> units() && {
    close();
    return std::move(units_);
  }

 private:
  static Parameters named(const torch::nn::Module& module, const std::string& prefix, bool recurse) {
    Parameters all;
    for (const auto& item : module.named_parameters(recurse))
      all.push_back({prefix + item.key(), item.value()});
    return all;
  }

  // A tensor that has two names is added once.
  void add(Parameters piece) {
    std::erase_if(piece, [&](const NamedTensor& each) {
      return !seen_.insert(each.tensor.unsafeGetTensorImpl()).second;
    });
    while (!piece.empty()) {
      Parameters same, others;
      for (NamedTensor& each : piece)
        (alike(each.tensor, piece.front().tensor) ? same : others).push_back(each);
      const bool fits = unit_.empty() || (bytes_of(unit_) + bytes_of(same) <= most_ &&
                                          alike(unit_.front().tensor, same.front().tensor));
      if (!fits) close();
      unit_.insert(unit_.end(), same.begin(), same.end());
      piece = std::move(others);
    }
  }

  void close() {
    if (!unit_.empty()) units_.push_back(std::exchange(unit_, {}));
  }

  const std::uint64_t most_;
  std::set<const torch::TensorImpl*> seen_;
  Parameters unit_;
  std::vector<Parameters> units_;
};

}  // namespace

std::vector<Parameters> cut_into_units(const torch::nn::Module& model, std::uint64_t bytes) {
  Cutter cutter(bytes);
  cutter.walk(model, "");
  return std::move(cutter).units();
}

std::vector<std::size_t> put_multiplied_first(std::vector<Parameters>& units,
                                              const torch::nn::Module& model) {
  std::set<const torch::TensorImpl*> looked_up;
  for (const auto& module : model.modules(/*include_self=*/false))
    if (const auto* table = module->as<torch::nn::Embedding>())
      looked_up.insert(table->weight.unsafeGetTensorImpl());
  const auto multiplied = [&](const NamedTensor& each) {
    return each.tensor.scalar_type() == torch::kFloat && each.tensor.dim() >= 2 &&
           !looked_up.contains(each.tensor.unsafeGetTensorImpl());
  };
  std::vector<std::size_t> counts;
  for (Parameters& unit : units) {
    const auto others = std::ranges::stable_partition(unit, multiplied);
    counts.push_back(unit.size() - others.size());
  }
  return counts;
}

}  // namespace runner
