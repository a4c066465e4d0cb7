#pragma once

#include <torch/types.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "components/contract/weights.hpp"
#include "runner/engine/world.hpp"

namespace runner {

// Where the parameters of a unit lie in one flat tensor, each in its own order of memory, and which stretch
// of it each rank keeps: equal stretches, which cut through parameters, or, where each parameter has an
// owner, the parameters of that rank, whole.
class UnitLayout {
 public:
  struct Stretch {
    std::int64_t first = 0, count = 0;
  };

  // `owners`: of each parameter, never falling; empty: equal stretches.
  UnitLayout(const std::vector<NamedTensor>& parameters, const std::vector<int>& owners, int ranks);

  std::int64_t size() const { return size_; }  // with what fills it up
  std::size_t parameters() const { return places_.size(); }
  Stretch part(int rank) const { return parts_[static_cast<std::size_t>(rank)]; }
  // What a rank keeps of a parameter, counted from the parameter's first element.
  Stretch piece(std::size_t parameter, int rank) const;
  // What a rank keeps of `count` elements from `first` on, counted from the beginning of the unit.
  Stretch part_of(Stretch elements, int rank) const;

  // Up to here the first so many parameters reach; all of them up to size().
  std::int64_t end_of(std::size_t parameters) const;

  // The parameter as a view of the flat tensor, or of one that has all elements from `first` on.
  torch::Tensor parameter_in(const torch::Tensor& flat, std::size_t parameter, std::int64_t first = 0) const;
  // What a rank keeps of it: shaped as the parameter where it is all of it, and else a column of as many
  // dimensions; as a view of that rank's part.
  std::vector<std::int64_t> slice_shape(std::size_t parameter, int rank) const;
  torch::Tensor slice_in(const torch::Tensor& part, std::size_t parameter, int rank) const;
  // The elements of any tensor of the parameter's shape in the order in which the parameter lies here; back.
  torch::Tensor in_order(const torch::Tensor& whole, std::size_t parameter) const;
  torch::Tensor in_shape(const torch::Tensor& elements, std::size_t parameter) const;

  // All ranks' parts become one flat tensor, in its number format, or as many elements from `first` on as it
  // has; sums over the ranks of flat tensors become each rank's part.
  std::vector<Work> begin_gather(World& ranks, const torch::Tensor& flat, const torch::Tensor& part,
                                 std::string_view what, std::int64_t first = 0) const;
  // What the flat tensor holds afterwards is not specified.
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
