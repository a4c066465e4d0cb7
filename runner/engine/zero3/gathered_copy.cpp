#include "runner/engine/zero3/gathered_copy.hpp"

#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>

#include "runner/engine/zero3/storage_memory.hpp"

namespace runner {

namespace {

constexpr auto weights = "the weights";

}  // namespace

void GatheredCopy::add(std::size_t begin, std::size_t end, const torch::TensorOptions& options) {
  const std::int64_t first = layout_->end_of(begin);
  const torch::Tensor values = torch::empty({layout_->end_of(end) - first}, options);
  free_memory(values, not_gathered);
  flats_.push_back({begin, end, first, values});
}

torch::Tensor GatheredCopy::parameter(std::size_t index) const {
  const auto flat =
      std::ranges::find_if(flats_, [&](const Flat& each) { return index >= each.begin && index < each.end; });
  if (flat == flats_.end()) throw std::logic_error("this copy does not have the parameter");
  return layout_->parameter_in(flat->values, index, flat->first);
}

std::int64_t GatheredCopy::bytes() const {
  std::int64_t sum = 0;
  for (const Flat& flat : flats_) sum += static_cast<std::int64_t>(flat.values.nbytes());
  return sum;
}

std::vector<const c10::StorageImpl*> GatheredCopy::storages() const {
  std::vector<const c10::StorageImpl*> all;
  for (const Flat& flat : flats_) all.push_back(flat.values.storage().unsafeGetStorageImpl());
  return all;
}

void GatheredCopy::begin_gather(const torch::Tensor& kept) {
  if (gathered_) return;
  for (const Flat& flat : flats_) allocate_memory(flat.values);
  gathered_ = true;
  gathering_ = gather_into(flats_, kept);
}

void GatheredCopy::finish_gather() {
  for (Work& work : gathering_) work.wait();
  gathering_.clear();
}

void GatheredCopy::release() {
  if (!gathered_) return;
  finish_gather();
  for (const Flat& flat : flats_) free_memory(flat.values, not_gathered);
  gathered_ = false;
}

void GatheredCopy::help_gather(const torch::Tensor& kept) const {
  std::vector<Flat> temporary = flats_;
  for (Flat& flat : temporary) flat.values = torch::empty({flat.values.numel()}, flat.values.options());
  for (Work& work : gather_into(temporary, kept)) work.wait();
}

std::vector<Work> GatheredCopy::gather_into(const std::vector<Flat>& flats, const torch::Tensor& kept) const {
  const torch::NoGradGuard no_grad;
  std::vector<Work> works;
  for (const Flat& flat : flats)
    std::ranges::move(layout_->begin_gather(*ranks_, flat.values, kept, weights, flat.first),
                      std::back_inserter(works));
  return works;
}

void GatheredCopy::copy_changes_to(const torch::Tensor& kept) const {
  const torch::NoGradGuard no_grad;
  const UnitLayout::Stretch part = layout_->part(ranks_->rank());
  for (const Flat& flat : flats_) {
    if (flat.values.scalar_type() != kept.scalar_type()) continue;
    const UnitLayout::Stretch own = layout_->part_of({flat.first, flat.values.numel()}, ranks_->rank());
    if (own.count == 0) continue;
    kept.narrow(0, own.first - part.first, own.count)
        .copy_(flat.values.narrow(0, own.first - flat.first, own.count));
  }
}

}  // namespace runner
