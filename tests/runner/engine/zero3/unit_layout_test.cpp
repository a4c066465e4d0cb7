#include "runner/engine/zero3/unit_layout.hpp"

#include <torch/utils.h>

#include <catch2/catch_all.hpp>

using namespace runner;

namespace {

std::vector<NamedTensor> parameters() {
  const auto numbers = [](std::vector<std::int64_t> shape) {
    const torch::Tensor flat = torch::empty(shape);
    return torch::arange(flat.numel(), torch::kFloat).view(shape);
  };
  return {{"kernel", numbers({2, 3, 2, 2}).contiguous(torch::MemoryFormat::ChannelsLast)},
          {"scalar", torch::tensor(5.0f)},
          {"matrix", numbers({4, 3})},
          {"empty", torch::empty({0, 3})}};
}

torch::Tensor filled(const UnitLayout& layout, const std::vector<NamedTensor>& all) {
  const torch::Tensor flat = torch::full({layout.size()}, -1.0f);
  for (std::size_t i = 0; i < all.size(); ++i) layout.parameter_in(flat, i).copy_(all[i].tensor);
  return flat;
}

torch::Tensor part_of(const UnitLayout& layout, const torch::Tensor& flat, int rank) {
  const UnitLayout::Stretch part = layout.part(rank);
  return flat.narrow(0, part.first, part.count);
}

}  // namespace

TEST_CASE("unit layout: equal parts, padded at the end, which slices cover once", "[zero3]") {
  const auto all = parameters();
  const int ranks = GENERATE(1, 2, 3, 5, 40);
  const UnitLayout layout(all, {}, ranks);
  const torch::Tensor flat = filled(layout, all);
  CHECK(layout.size() % ranks == 0);
  CHECK(layout.size() - (24 + 1 + 12) < ranks);
  for (std::size_t i = 0; i < all.size(); ++i) {
    INFO(all[i].name);
    CHECK(torch::equal(layout.parameter_in(flat, i), all[i].tensor));
    std::vector<torch::Tensor> pieces;
    std::int64_t next = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      const UnitLayout::Stretch piece = layout.piece(i, rank);
      const torch::Tensor slice = layout.slice_in(part_of(layout, flat, rank), i, rank);
      CHECK(slice.sizes() == layout.slice_shape(i, rank));
      CHECK(slice.numel() == piece.count);
      CHECK(slice.dim() == (piece.count == all[i].tensor.numel() && piece.count > 0
                                ? all[i].tensor.dim()
                                : std::max<std::int64_t>(all[i].tensor.dim(), 1)));
      if (piece.count == 0) continue;
      CHECK(piece.first == next);
      next += piece.count;
      pieces.push_back(piece.count == all[i].tensor.numel() ? layout.in_order(slice, i) : slice.reshape(-1));
    }
    CHECK(next == all[i].tensor.numel());
    if (pieces.empty()) continue;
    // Joined in order, they are the parameter again.
    const torch::Tensor joined = torch::cat(pieces);
    CHECK(torch::equal(layout.in_shape(joined, i), all[i].tensor));
    CHECK(torch::equal(joined, layout.in_order(all[i].tensor, i)));
    CHECK(torch::equal(joined, layout.in_order(all[i].tensor.contiguous(), i)));
  }
}

TEST_CASE("unit layout: channels_last stays, and gaps do not", "[zero3]") {
  const torch::Tensor with_gaps = torch::arange(12.0f).view({3, 4}).narrow(1, 0, 2);
  const std::vector<NamedTensor> all{parameters()[0], {"with_gaps", with_gaps}};
  const UnitLayout layout(all, {}, 2);
  const torch::Tensor flat = filled(layout, all);
  CHECK(layout.parameter_in(flat, 0).is_contiguous(torch::MemoryFormat::ChannelsLast));
  CHECK(layout.parameter_in(flat, 1).is_contiguous());
  CHECK(torch::equal(layout.parameter_in(flat, 1), with_gaps));
  CHECK(layout.size() == 24 + 6);
}

TEST_CASE("unit layout: whole parameters of their owners", "[zero3]") {
  const auto all = parameters();
  const UnitLayout layout(all, {0, 0, 2, 2}, 3);
  const torch::Tensor flat = filled(layout, all);
  CHECK(layout.size() == 24 + 1 + 12);
  CHECK(layout.part(0).count == 25);
  CHECK(layout.part(1).count == 0);
  CHECK(layout.part(2).count == 12);
  CHECK(torch::equal(layout.slice_in(part_of(layout, flat, 0), 0, 0), all[0].tensor));
  CHECK(torch::equal(layout.slice_in(part_of(layout, flat, 2), 2, 2), all[2].tensor));
  CHECK(layout.slice_in(part_of(layout, flat, 1), 2, 1).numel() == 0);
  CHECK(layout.slice_shape(2, 0) == std::vector<std::int64_t>{0, 1});
}
