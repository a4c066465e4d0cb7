#pragma once

#include <torch/types.h>

#include <vector>

#include "runner/engine/unit_layout.hpp"
#include "runner/engine/world.hpp"

namespace runner {

// Parameters of a unit, gathered from all ranks: views of one flat tensor, or of two of different number
// formats, whose memory comes and goes. So does the memory of whatever autograd has kept of them.
class GatheredCopy {
 public:
  static constexpr auto not_gathered =
      "These weights are sharded across ranks and not gathered now. Read them through Engine::weights().";

  GatheredCopy(World& ranks, const UnitLayout& layout) : ranks_(&ranks), layout_(&layout) {}

  // Before the first gather: it has parameters `begin` up to `end` in this number format.
  void add(std::size_t begin, std::size_t end, const torch::TensorOptions& options);
  torch::Tensor parameter(std::size_t index) const;  // as a view

  std::int64_t bytes() const;  // while it is gathered
  std::vector<const c10::StorageImpl*> storages() const;

  // Every rank takes part, with the part that it keeps; it is under way until finish_gather().
  bool gathered() const { return gathered_; }  // or under way
  void begin_gather(const torch::Tensor& kept);
  void finish_gather();
  void release();
  // For other ranks: this one has it already, or does not need it.
  void help_gather(const torch::Tensor& kept) const;
  // What has been written into it, as far as it has the number format of `kept`.
  void copy_changes_to(const torch::Tensor& kept) const;

 private:
  struct Flat {
    std::size_t begin, end;  // of the unit's parameters
    std::int64_t first;      // of its elements
    torch::Tensor values;
  };

  std::vector<Work> gather_into(const std::vector<Flat>& flats, const torch::Tensor& kept) const;

  World* ranks_;
  const UnitLayout* layout_;
  std::vector<Flat> flats_;
  bool gathered_ = false;
  std::vector<Work> gathering_;
};

}  // namespace runner
