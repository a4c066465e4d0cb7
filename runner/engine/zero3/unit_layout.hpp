#pragma once

#include <torch/types.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "components/contract/weights.hpp"
#include "runner/engine/world.hpp"

namespace runner {

// The layout of the parameters of a unit in one flat tensor, each in its own memory order, and the stretch of
// it that each rank keeps: equal stretches, which may cut parameters, or, if each parameter has an owner, the
// whole parameters of that rank.
class UnitLayout {
 public:
  struct Stretch {
    std::int64_t first = 0, count = 0;
  };

  // `owners`: for each parameter, in ascending order; empty: equal stretches.
  UnitLayout(const std::vector<NamedTensor>& parameters, const std::vector<int>& owners, int ranks);

  std::int64_t size() const { return size_; }  // with padding
  std::size_t parameters() const { return places_.size(); }
  Stretch part(int rank) const { return parts_[static_cast<std::size_t>(rank)]; }
  // What a rank keeps of a parameter, counted from the parameter's first element.
  Stretch piece(std::size_t parameter, int rank) const;
  // What a rank keeps of `count` elements from `first` on, counted from the beginning of the unit.
  Stretch part_of(Stretch elements, int rank) const;

  // Where the first `parameters` parameters end; size() for all of them.
  std::int64_t end_of(std::size_t parameters) const;

  // The parameter as a view of the flat tensor, or of one that has all elements from `first` on.
  torch::Tensor parameter_in(const torch::Tensor& flat, std::size_t parameter, std::int64_t first = 0) const;
  // What a rank keeps of a parameter, as a view of that rank's part: in the shape of the parameter if it is
  // the whole parameter, otherwise a column with as many dimensions.
  std::vector<std::int64_t> slice_shape(std::size_t parameter, int rank) const;
  torch::Tensor slice_in(const torch::Tensor& part, std::size_t parameter, int rank) const;
  // The elements of a tensor of the parameter's shape in the order of this layout, and the reverse.
  torch::Tensor in_order(const torch::Tensor& whole, std::size_t parameter) const;
  torch::Tensor in_shape(const torch::Tensor& elements, std::size_t parameter) const;

  // Gathers the parts of all ranks into `flat`, in its number format. `flat` may have fewer elements than the
  // unit: those from `first` on.
  std::vector<Work> begin_gather(World& ranks, const torch::Tensor& flat, const torch::Tensor& part,
                                 std::string_view what, std::int64_t first = 0) const;
  // Sums `flat` over the ranks; each gets its part of the sum. The contents of `flat` afterwards are not
  // specified.
  std::vector<Work> begin_reduce(World& ranks, const torch::Tensor& part, const torch::Tensor& flat,
                                 std::string_view what) const;

 private:
  bool at_once(const torch::Tensor& flat) const;

  struct Place {
    std::vector<std::int64_t> sizes, strides;
    Stretch stretch;
  };

  std::vector<Place> places_;
  std::vector<Stretch> parts_;
  std::int64_t size_ = 0;
  bool equal_parts_ = true;
};

}  // namespace runner
