#include "runner/engine/zero3/unit_layout.hpp"

#include <algorithm>

#include "registry/base/arithmetic.hpp"

namespace runner {

UnitLayout::UnitLayout(const std::vector<NamedTensor>& parameters, const std::vector<int>& owners, int ranks)
    : parts_(static_cast<std::size_t>(ranks)), equal_parts_(owners.empty()) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const torch::Tensor& tensor = parameters[i].tensor;
    // Keeps channels_last; a tensor with gaps would need more memory than it has elements.
    const auto strides = tensor.is_non_overlapping_and_dense() ? tensor.strides().vec()
                                                               : tensor.detach().contiguous().strides().vec();
    places_.push_back({tensor.sizes().vec(), strides, {size_, tensor.numel()}});
    if (!equal_parts_) {
      Stretch& part = parts_[static_cast<std::size_t>(owners[i])];
      if (part.count == 0) part.first = size_;
      part.count += tensor.numel();
    }
    size_ += tensor.numel();
  }
  size_ = std::max<std::int64_t>(size_, 1);
  if (!equal_parts_) return;
  const std::int64_t count = divide_up(size_, static_cast<std::int64_t>(ranks));
  for (std::size_t rank = 0; rank < parts_.size(); ++rank)
    parts_[rank] = {static_cast<std::int64_t>(rank) * count, count};
  size_ = count * ranks;
}

UnitLayout::Stretch UnitLayout::part_of(Stretch elements, int rank) const {
  const Stretch kept = part(rank);
  const std::int64_t first = std::max(elements.first, kept.first);
  const std::int64_t end = std::min(elements.first + elements.count, kept.first + kept.count);
  return end > first ? Stretch{first, end - first} : Stretch{};
}

UnitLayout::Stretch UnitLayout::piece(std::size_t parameter, int rank) const {
  const Stretch whole = places_[parameter].stretch, own = part_of(whole, rank);
  return own.count > 0 ? Stretch{own.first - whole.first, own.count} : Stretch{};
}

std::int64_t UnitLayout::end_of(std::size_t parameters) const {
  return parameters < places_.size() ? places_[parameters].stretch.first : size_;
}

torch::Tensor UnitLayout::parameter_in(const torch::Tensor& flat, std::size_t parameter,
                                       std::int64_t first) const {
  const Place& place = places_[parameter];
  return flat.as_strided(place.sizes, place.strides, flat.storage_offset() + place.stretch.first - first);
}

std::vector<std::int64_t> UnitLayout::slice_shape(std::size_t parameter, int rank) const {
  const Place& place = places_[parameter];
  const Stretch found = piece(parameter, rank);
  if (found.count == place.stretch.count && found.count > 0) return place.sizes;
  std::vector<std::int64_t> column(std::max<std::size_t>(place.sizes.size(), 1), 1);
  column[0] = found.count;
  return column;
}

torch::Tensor UnitLayout::slice_in(const torch::Tensor& kept, std::size_t parameter, int rank) const {
  const Place& place = places_[parameter];
  const Stretch found = piece(parameter, rank);
  const std::int64_t offset = place.stretch.first + found.first - part(rank).first;
  if (found.count == place.stretch.count && found.count > 0)
    return kept.as_strided(place.sizes, place.strides, kept.storage_offset() + offset);
  return kept.narrow(0, found.count > 0 ? offset : 0, found.count).view(slice_shape(parameter, rank));
}

torch::Tensor UnitLayout::in_order(const torch::Tensor& whole, std::size_t parameter) const {
  const Place& place = places_[parameter];
  if (whole.strides() == place.strides) return whole.as_strided({whole.numel()}, {1});
  return torch::empty_strided(place.sizes, place.strides, whole.options())
      .copy_(whole)
      .as_strided({whole.numel()}, {1});
}

torch::Tensor UnitLayout::in_shape(const torch::Tensor& elements, std::size_t parameter) const {
  const Place& place = places_[parameter];
  return elements.as_strided(place.sizes, place.strides, elements.storage_offset());
}

// Gloo would gather into a copy, and sum a copy of everything on every rank, so it gets the parts one by one.
bool UnitLayout::at_once(const torch::Tensor& flat) const {
  return equal_parts_ && flat.numel() == size_ && !flat.device().is_cpu() && !flat.is_meta();
}

std::vector<Work> UnitLayout::begin_gather(World& ranks, const torch::Tensor& flat, const torch::Tensor& kept,
                                           std::string_view what, std::int64_t first) const {
  std::vector<Work> works;
  const auto in_flat = [&](int rank) {
    const Stretch found = part_of({first, flat.numel()}, rank);
    return flat.narrow(0, found.count > 0 ? found.first - first : 0, found.count);
  };
  const Stretch own = part_of({first, flat.numel()}, ranks.rank());
  if (own.count > 0)
    in_flat(ranks.rank())
        .copy_(kept.narrow(0, own.first - part(ranks.rank()).first, own.count), /*non_blocking=*/true);
  if (at_once(flat)) {
    works.push_back(ranks.begin_all_gather(flat, in_flat(ranks.rank()), what));
    return works;
  }
  for (int rank = 0; rank < ranks.size(); ++rank)
    if (const torch::Tensor theirs = in_flat(rank); theirs.numel() > 0)
      works.push_back(ranks.begin_broadcast(theirs, rank, what));
  return works;
}

std::vector<Work> UnitLayout::begin_reduce(World& ranks, const torch::Tensor& kept, const torch::Tensor& flat,
                                           std::string_view what) const {
  std::vector<Work> works;
  if (at_once(flat)) {
    works.push_back(ranks.begin_reduce_scatter(kept, flat, what));
    return works;
  }
  for (int rank = 0; rank < ranks.size(); ++rank) {
    const Stretch theirs = part(rank);
    if (theirs.count == 0) continue;
    // The rank that gets the sum reduces in place, into `kept`.
    const torch::Tensor piece = flat.narrow(0, theirs.first, theirs.count);
    if (rank == ranks.rank()) kept.copy_(piece);
    works.push_back(ranks.begin_reduce(rank == ranks.rank() ? kept : piece, rank, what));
  }
  return works;
}

}  // namespace runner
