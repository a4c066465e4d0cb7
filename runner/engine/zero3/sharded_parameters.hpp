#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "components/torch/operator_mode.hpp"
#include "runner/engine/world.hpp"
#include "runner/engine/zero3/next_exchange.hpp"
#include "runner/engine/zero3/sharded_unit.hpp"

namespace runner {

struct ShardingOptions {
  std::uint64_t unit_bytes = std::uint64_t{32} << 20;
  bool whole_parameters = false;  // each rank keeps whole parameters, for optimizers that need them
  bool reshard_after_forward = true;
  bool prefetch = true;
  int group = 0;  // consecutive ranks that share one copy of the parameters; 0: all ranks
  std::optional<torch::ScalarType> wire = {};  // the number format for sending gradients; none: their own
  std::optional<torch::ScalarType> cast = {};  // the type of autocast, if parameters are gathered in it
  using Copy = std::function<torch::Tensor(const torch::Tensor& values)>;
  Copy keep = {};       // stores the part that a rank keeps: UnitOptions::keep
  Copy set_aside = {};  // copies tensors that are about to be saved; none: into main memory
};

// A model of which each rank keeps only a part (ZeRO stage 3, FSDP). Units of parameters are gathered when an
// operator is about to read them and released when other units are needed; gradients are summed unit by unit
// during backward, and each rank keeps its part of the sums. The model does not notice.
//
// Ranks agree on every exchange beforehand (NextExchange); a rank that needed another one proposes it again.
// So ranks may run different numbers of passes, or different parts of the model, and a rank that has nothing
// left to do helps the others in join().
//
// With `cast`, parameters that layers multiply with are gathered in that type, for autocast. Code that reads
// such a parameter without autocast gets the uncast values, which are gathered separately.
class ShardedParameters final : public OperatorMode {
 public:
  ShardedParameters(World& world, const torch::nn::Module& model, const ShardingOptions& options,
                    ParameterValues values = {});
  ~ShardedParameters() override;
  ShardedParameters(const ShardedParameters&) = delete;
  ShardedParameters& operator=(const ShardedParameters&) = delete;

  const std::vector<std::unique_ptr<ShardedUnit>>& units() const { return units_; }
  const ShardingOptions& options() const { return options_; }
  // The ranks that share one copy of the parameters. The first group consists of the first ranks.
  World& group() const { return own_group_ ? *own_group_ : world_; }
  // The rank that saves a whole unit: each rank of the first group saves about equally many bytes.
  int writer_of(std::size_t unit) const { return writers_[unit]; }
  // For a parameter of the model: its unit and its index in the unit; the slice that this rank keeps.
  std::pair<std::size_t, std::size_t> place_of(const torch::Tensor& parameter) const;
  const torch::Tensor& slice_of(const torch::Tensor& parameter) const;

  // During passes of the model, every operator of this thread comes here first.
  void run(const c10::OperatorHandle& op, torch::jit::Stack& stack) override;
  bool looks_inside(const c10::OperatorHandle& op, const torch::jit::Stack& stack) override;
  void begin_forward();
  void begin_backward();
  void end_backward();

  // This rank has no pass left for now. Returns when this is true of all ranks; everything is then released.
  void join();
  // After join(): the slices get the sums of the gradients, for parameters that any rank has a gradient of.
  void give_gradients();
  void drop_gradients();

  // How often the ranks have agreed on an exchange of this kind.
  std::int64_t exchanges(NextExchange::Kind kind) const { return exchanges_[static_cast<std::size_t>(kind)]; }

 private:
  class Hook;

  void make_groups();
  // Something to gather, identified by its index: first the copy `all` of each unit, by the index of the
  // unit, then the copies `uncast`.
  struct Gatherable {
    std::size_t unit;
    ShardedUnit::Copy copy;
  };
  struct Touched {
    std::vector<std::size_t> all, written;  // gatherables
  };
  Touched touched_by(const c10::OperatorHandle& op, const torch::jit::Stack& stack,
                     bool with_autocast = false) const;
  void provide(std::span<const std::size_t> gatherables, const c10::OperatorHandle& op);
  bool may_be_given_cast(const torch::Tensor& tensor) const;
  bool give_cast(const c10::OperatorHandle& op, torch::jit::Stack& stack);
  const GatheredCopy& copy(std::size_t gatherable) const;
  void finish_gather(std::size_t gatherable);
  void release(std::size_t gatherable);
  void keep_changes(std::size_t gatherable);
  void need(std::span<const std::size_t> gatherables);
  void make_room(std::span<const std::size_t> needed);
  void prefetch_after(std::span<const std::size_t> needed);
  void completed(std::size_t unit, std::size_t parameter);
  void reduce(std::size_t unit);
  NextExchange exchange(
      const NextExchange& own);  // returns what was done, which may be what another rank proposed
  void carry_out(const NextExchange& agreed, const NextExchange& own);

  World& world_;
  const ShardingOptions options_;
  std::unique_ptr<World> own_group_;  // null: the whole world
  std::unique_ptr<World> copies_;     // the ranks of all groups that keep the same part
  std::vector<std::unique_ptr<ShardedUnit>> units_;
  std::vector<int> writers_;  // of each unit
  std::vector<Gatherable> gatherables_;
  std::unordered_map<const c10::StorageImpl*, std::size_t> gatherable_of_;
  std::unordered_map<const torch::TensorImpl*, std::pair<std::size_t, std::size_t>> place_of_;
  std::vector<std::size_t> gathered_;  // in order of their last use
  std::optional<std::size_t> reducing_;
  bool in_backward_ = false;
  std::optional<std::size_t> current_;
  std::array<std::map<std::size_t, std::size_t>, 2> next_;  // what was needed after what; forward, backward
  std::array<std::int64_t, 4> exchanges_{};                 // of each kind
};

}  // namespace runner
