#pragma once

#include <torch/types.h>

#include <vector>

#include "runner/engine/world.hpp"
#include "runner/engine/zero3/unit_layout.hpp"

namespace runner {

// Parameters of a unit, gathered from all ranks: views of one flat tensor, or of two with different number
// formats, which has memory only while it is gathered. This includes views that autograd has saved.
class GatheredCopy {
 public:
  static constexpr auto not_gathered =
      "These weights are sharded across ranks and not gathered now. Read them through Engine::weights().";

  GatheredCopy(World& ranks, const UnitLayout& layout) : ranks_(&ranks), layout_(&layout) {}

  // Adds parameters `begin` to `end` - 1 in this number format. Call it before the first gather.
  void add(std::size_t begin, std::size_t end, const torch::TensorOptions& options);
  torch::Tensor parameter(std::size_t index) const;  // as a view

  std::int64_t bytes() const;  // when it is gathered
  std::vector<const c10::StorageImpl*> storages() const;

  // Every rank takes part, with the part that it keeps. The result is available after finish_gather().
  bool gathered() const { return gathered_; }  // or under way
  void begin_gather(const torch::Tensor& kept);
  void finish_gather();
  void release();
  // Takes part for the sake of other ranks: this rank has the parameters already, or does not need them.
  void help_gather(const torch::Tensor& kept) const;
  // Copies this rank's part back after a write, for parameters in the number format of `kept`.
  void copy_changes_to(const torch::Tensor& kept) const;

 private:
  struct Flat {
    std::size_t begin, end;  // parameters of the unit
    std::int64_t first;      // first element, counted in the unit
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
