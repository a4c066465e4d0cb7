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

#include "components/support/operator_mode.hpp"
#include "runner/engine/next_exchange.hpp"
#include "runner/engine/sharded_unit.hpp"
#include "runner/engine/world.hpp"

namespace runner {

struct ShardingOptions {
  std::uint64_t unit_bytes = std::uint64_t{32} << 20;
  bool whole_parameters = false;  // each rank keeps whole parameters, for optimizers that need them
  bool reshard_after_forward = true;
  bool prefetch = true;
  int group = 0;  // consecutive ranks that share one copy of the parameters; 0: all ranks
  std::optional<torch::ScalarType> wire = {};  // of gradients, where it is not their own
  std::optional<torch::ScalarType> cast = {};  // what autocast casts parameters to, if they are gathered so
  using Copy = std::function<torch::Tensor(const torch::Tensor& values)>;
  Copy keep = {};       // what a rank keeps of them: UnitOptions::keep
  Copy set_aside = {};  // what is about to be saved; none: a copy in main memory
};

// A model of which each rank keeps a part only (ZeRO stage 3, FSDP). Units of parameters are gathered when an
// operator is about to read them and released when others are; gradients are summed unit by unit during
// backward, and each rank keeps its part of the sums. The model knows nothing of it.
//
// Before every exchange ranks agree on it (NextExchange), and whoever needs something else says so again. So
// ranks may run a different number of passes, or different parts of the model, and one that has nothing left
// to do helps the others in join().
//
// With `cast`, parameters that layers multiply with are gathered in that type, and autocast gets them when it
// asks for them in it. Who reads such a parameter itself gets it uncast, which is gathered separately.
class ShardedParameters final : public OperatorMode {
 public:
  ShardedParameters(World& world, const torch::nn::Module& model, const ShardingOptions& options,
                    ParameterValues values = {});
  ~ShardedParameters() override;
  ShardedParameters(const ShardedParameters&) = delete;
  ShardedParameters& operator=(const ShardedParameters&) = delete;

  const std::vector<std::unique_ptr<ShardedUnit>>& units() const { return units_; }
  const ShardingOptions& options() const { return options_; }
  // The ranks that share one copy of the parameters. The first group is the first ranks.
  World& group() const { return own_group_ ? *own_group_ : world_; }
  // The rank that saves a unit, whole: about as many bytes on each rank of the first group.
  int writer_of(std::size_t unit) const { return writers_[unit]; }
  // Of one of the model's parameters: its unit and its number there; what this rank keeps of it.
  std::pair<std::size_t, std::size_t> place_of(const torch::Tensor& parameter) const;
  const torch::Tensor& slice_of(const torch::Tensor& parameter) const;

  // Around the passes of the model: every operator of this thread comes here first.
  void run(const c10::OperatorHandle& op, torch::jit::Stack& stack) override;
  bool looks_inside(const c10::OperatorHandle& op, const torch::jit::Stack& stack) override;
  void begin_forward();
  void begin_backward();
  void end_backward();

  // This rank has no pass left for now. Returns when no rank has, with everything released.
  void join();
  // After join(): the slices get the gradients of all ranks, of parameters that any rank had one for.
  void give_gradients();
  void drop_gradients();

  // How often the ranks have agreed on an exchange of this kind.
  std::int64_t exchanges(NextExchange::Kind kind) const { return exchanges_[static_cast<std::size_t>(kind)]; }

 private:
  class Hook;

  void make_groups();
  // Something to gather. It is known by a number: the copies for the passes by that of their unit, and after
  // them those of parameters that are otherwise cast.
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
  NextExchange exchange(const NextExchange& own);  // what was done instead, where others went first
  void carry_out(const NextExchange& agreed, const NextExchange& own);

  World& world_;
  const ShardingOptions options_;
  std::unique_ptr<World> own_group_, copies_;  // none: the world; ranks of other groups that keep the same
  std::vector<std::unique_ptr<ShardedUnit>> units_;
  std::vector<int> writers_;  // of each unit
  std::vector<Gatherable> gatherables_;
  std::unordered_map<const c10::StorageImpl*, std::size_t> gatherable_of_;
  std::unordered_map<const torch::TensorImpl*, std::pair<std::size_t, std::size_t>> place_of_;
  std::vector<std::size_t> gathered_;  // the one that was needed last is the last
  std::optional<std::size_t> reducing_;
  bool in_backward_ = false;
  std::optional<std::size_t> current_;
  std::array<std::map<std::size_t, std::size_t>, 2> next_;  // what was needed after what; forward, backward
  std::array<std::int64_t, 4> exchanges_{};                 // of each kind
};

}  // namespace runner
