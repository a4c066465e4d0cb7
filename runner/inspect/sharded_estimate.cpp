#include "runner/inspect/sharded_estimate.hpp"

#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>

#include "registry/base/log.hpp"
#include "runner/engine/strategies/rank_sync.hpp"
#include "runner/engine/zero3/parameter_units.hpp"
#include "runner/engine/zero3/unit_layout.hpp"
#include "runner/inspect/counting_world.hpp"

namespace runner {

namespace {

std::int64_t bytes_of(const torch::Tensor& tensor) { return static_cast<std::int64_t>(tensor.nbytes()); }

struct Unit {
  std::vector<NamedTensor> parameters;
  UnitLayout layout;
  std::size_t cast_count;  // as in UnitOptions
  std::int64_t autocast;   // elements that autocast copies
};

// The bytes of a unit on a rank, at different times of an update.
struct UnitBytes {
  std::int64_t gathered = 0, kept = 0;
  std::int64_t autocast = 0;  // copies that exist from forward to backward
  std::int64_t gradients = 0,
               largest_gradient = 0;  // before they are summed over the ranks; 0: none is trained
  std::int64_t sent = 0, received = 0;
  std::int64_t kept_gradients = 0;
};

// The bytes of a rank at one moment, without its part of the parameters and its optimizer state.
struct Moment {
  std::int64_t gathered = 0, gradients = 0, exchanged = 0;
  std::int64_t updating = 0;  // temporary memory of the optimizer

  std::int64_t total() const { return gathered + gradients + exchanged + updating; }
};

class ShardedModel {
 public:
  ShardedModel(const Recipe& recipe, Model& model, int ranks)
      : recipe_(recipe),
        cast_to_(recipe.precision.facts().weights_cast_to),
        group_(group_of(recipe, ranks)),
        ranks_(ranks) {
    auto cut = cut_into_units(model, recipe.distributed.unit_size.bytes);
    const auto in_order_of_model = cut;
    const std::vector<std::size_t> multiplied = put_multiplied_first(cut, model);
    std::vector<std::int64_t> autocast(cut.size());
    for (std::size_t i = 0; i < cut.size(); ++i)
      for (std::size_t p = 0; cast_to_ && !gathers_cast() && p < multiplied[i]; ++p)
        autocast[i] += cut[i][p].tensor.numel();
    if (!gathers_cast()) cut = in_order_of_model;
    std::vector<NamedTensor> all;
    for (const auto& unit : cut) all.insert(all.end(), unit.begin(), unit.end());
    whole_ = recipe.optimizer.facts().updates_by != UpdatesBy::element;
    const std::vector<int> owners = whole_ ? share_out(all, group_) : std::vector<int>();
    auto first = owners.begin();
    for (std::size_t i = 0; i < cut.size(); ++i) {
      const auto last = first + (whole_ ? static_cast<std::ptrdiff_t>(cut[i].size()) : 0);
      units_.push_back({cut[i], UnitLayout(cut[i], std::vector<int>(first, last), group_),
                        gathers_cast() ? multiplied[i] : 0, autocast[i]});
      first = last;
    }
    for (const auto& item : model.named_buffers()) buffer_bytes_ += bytes_of(item.value());
  }

  RankEstimate estimate() const {
    RankEstimate result{.ranks = ranks_, .smallest_share = share_of(0)};
    std::int64_t most = -1;
    for (int rank = 0; rank < group_; ++rank) {
      result.smallest_share = std::min(result.smallest_share, share_of(rank));
      result.largest_share = std::max(result.largest_share, share_of(rank));
      if (rank > 0 && !whole_) continue;  // parts are equal, except for padding
      const OptimizerBytes optimizer = optimizer_of(rank);
      std::int64_t kept = buffer_bytes_;
      for (const UnitBytes& unit : bytes_of_units(rank)) kept += unit.kept;
      const Moment moment = fullest(bytes_of_units(rank), optimizer.temporary);
      if (kept + moment.total() + optimizer.state <= most) continue;
      most = kept + moment.total() + optimizer.state;
      result.weight_bytes = kept + moment.gathered;
      result.gradient_bytes = moment.gradients;
      result.exchange_bytes = moment.exchanged;
      result.optimizer_bytes = optimizer.state + moment.updating;
      offload(result, kept - buffer_bytes_, optimizer.state);
    }
    result.sent_bytes = sent_bytes();
    return result;
  }

 private:
  bool gathers_cast() const { return cast_to_ && recipe_.distributed.gather != GatherAs::full; }

  // Moves what is not in the memory of the compute device to offloaded_bytes.
  void offload(RankEstimate& found, std::int64_t kept, std::int64_t state) const {
    const Offload where = recipe_.distributed.offload;
    found.offloaded_bytes = 0;
    if (where == Offload::none) return;
    found.offloaded_bytes = kept + state;
    found.weight_bytes -= kept;
    found.optimizer_bytes -= state;
    if (where == Offload::disk) return;
    found.offloaded_bytes += found.gradient_bytes + found.optimizer_bytes;
    found.gradient_bytes = found.optimizer_bytes = 0;
  }

  static int group_of(const Recipe& recipe, int ranks) {
    const std::int64_t group = recipe.distributed.shard_group;
    if (group == 0) return ranks;
    if (ranks % group != 0)
      throw std::runtime_error(
          log::format("distributed.shard_group = {} must divide the number of ranks ({}).", group, ranks));
    return static_cast<int>(group);
  }

  std::int64_t share_of(int rank) const {
    std::int64_t bytes = 0;
    for (const Unit& unit : units_)
      for (std::size_t i = 0; i < unit.parameters.size(); ++i)
        if (const torch::Tensor& tensor = unit.parameters[i].tensor; tensor.requires_grad())
          bytes += unit.layout.piece(i, rank).count * static_cast<std::int64_t>(tensor.element_size());
    return bytes;
  }

  OptimizerBytes optimizer_of(int rank) const {
    torch::OrderedDict<std::string, torch::Tensor> slices;
    for (const Unit& unit : units_) {
      for (std::size_t i = 0; i < unit.parameters.size(); ++i) {
        const auto& [name, parameter] = unit.parameters[i];
        slices.insert(name, torch::zeros(unit.layout.slice_shape(i, rank), parameter.options())
                                .set_requires_grad(parameter.requires_grad()));
      }
    }
    return optimizer_bytes_of_rank(
        recipe_, slices, [&](const std::string& name) { return slices[name].numel() > 0; }, rank, ranks_);
  }

  std::vector<UnitBytes> bytes_of_units(int rank) const {
    std::vector<UnitBytes> all;
    for (const auto& [parameters, layout, cast_count, autocast] : units_) {
      const auto size = static_cast<std::int64_t>(parameters.front().tensor.element_size());
      const std::int64_t part = layout.part(rank).count;
      UnitBytes unit{.kept = size * part, .autocast = cast_size() * autocast};
      const std::int64_t cast = cast_count > 0 ? layout.end_of(cast_count) : 0;
      unit.gathered = cast_size() * cast + size * (layout.size() - cast);
      for (const auto& [name, parameter] : parameters)
        if (parameter.requires_grad())
          unit.largest_gradient = std::max(unit.largest_gradient, bytes_of(parameter));
      if (unit.largest_gradient > 0) {
        const std::int64_t on_wire = recipe_.distributed.compression == Compression::none ? size : 2;
        unit.gradients = size * layout.size();
        unit.sent = on_wire * layout.size();
        unit.received = on_wire * part;
        unit.kept_gradients = size * part;
      }
      all.push_back(unit);
    }
    return all;
  }

  // Backward goes through the units from the last to the first: while the gradients of one are computed,
  // those of the one before it in this order are on their way.
  Moment fullest(const std::vector<UnitBytes>& units, std::int64_t of_update) const {
    const bool reshard = recipe_.distributed.reshard_after_forward;
    const bool summed_before = recipe_.train.accumulation_steps > 1;
    std::int64_t all = 0, all_gradients = 0, copies = 0;
    for (const UnitBytes& unit : units) {
      all += unit.gathered;
      all_gradients += unit.kept_gradients;
      copies += unit.autocast;
    }
    Moment most{.gradients = all_gradients, .updating = of_update};  // when the weights are updated
    const auto consider = [&](const Moment& moment) {
      if (moment.total() > most.total()) most = moment;
    };
    std::int64_t up_to = all, summed = 0;  // gathered bytes of units 0 .. i; gradients of units after i + 1
    for (std::size_t i = units.size(); i-- > 0;) {
      const UnitBytes before = i + 1 < units.size() ? units[i + 1] : UnitBytes{}, &now = units[i];
      // The next unit is gathered while this one is in use; the last two are still gathered after forward.
      const bool two = recipe_.distributed.prefetch || i + 1 == units.size();
      const std::int64_t beside = i > 0 && two ? units[i - 1].gathered : 0;
      const std::int64_t gathered = copies + (reshard ? now.gathered + beside : up_to);
      copies -= now.autocast;
      consider({gathered, summed_before ? all_gradients : summed,
                now.gradients + now.largest_gradient + before.sent + before.received});
      summed += before.kept_gradients;
      if (now.sent < now.gradients)  // a copy in a narrower format is made
        consider({gathered, summed_before ? all_gradients : summed, now.gradients + now.sent});
      if (summed_before)  // the next forward
        consider({reshard ? now.gathered + (i > 0 ? units[i - 1].gathered : 0) : all, all_gradients, 0});
      up_to -= now.gathered;
    }
    return most;
  }

  std::int64_t sent_bytes() const {
    CountingWorld world(0, group_);
    const auto meta = [](std::int64_t count, torch::ScalarType type) {
      return torch::empty({count}, torch::dtype(type).device(torch::kMeta));
    };
    std::int64_t summed = 0;
    for (std::size_t i = 0; i < units_.size(); ++i) {
      const auto& [parameters, layout, cast_count, autocast] = units_[i];
      const torch::ScalarType type = parameters.front().tensor.scalar_type();
      const bool trained = std::ranges::any_of(
          parameters, [](const NamedTensor& each) { return each.tensor.requires_grad(); });
      const std::int64_t part = layout.part(0).count;
      // The last two are still gathered after forward.
      const bool again = recipe_.distributed.reshard_after_forward && i + 2 < units_.size();
      const std::int64_t cast = cast_count > 0 ? layout.end_of(cast_count) : 0;
      for (int gathers = 0; gathers < (again ? 2 : 1); ++gathers) {
        if (cast > 0) layout.begin_gather(world, meta(cast, *cast_to_), meta(part, type), "");
        layout.begin_gather(world, meta(layout.size() - cast, type), meta(part, type), "", cast);
      }
      if (!trained) continue;
      const torch::ScalarType wire =
          recipe_.distributed.compression == Compression::none ? type : torch::kHalf;
      layout.begin_reduce(world, meta(part, wire), meta(layout.size(), wire), "");
      summed += part * static_cast<std::int64_t>(torch::elementSize(type));
    }
    const std::int64_t groups = ranks_ / group_;
    return recipe_.train.accumulation_steps * world.bytes_sent() + (ranks_ - 1) * buffer_bytes_ / ranks_ +
           2 * (groups - 1) * summed / groups;
  }

  std::int64_t cast_size() const {
    return cast_to_ ? static_cast<std::int64_t>(torch::elementSize(*cast_to_)) : 0;
  }

  const Recipe& recipe_;
  const std::optional<torch::ScalarType> cast_to_;  // by autocast
  const int group_, ranks_;
  bool whole_ = false;  // each rank keeps whole parameters
  std::vector<Unit> units_;
  std::int64_t buffer_bytes_ = 0;
};

}  // namespace

RankEstimate estimate_sharded(const Recipe& recipe, Model& model, int ranks) {
  return ShardedModel(recipe, model, ranks).estimate();
}

}  // namespace runner
