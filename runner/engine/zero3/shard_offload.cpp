#include "runner/engine/zero3/shard_offload.hpp"

#include <linux/magic.h>
#include <sys/vfs.h>
#include <torch/types.h>

#include <stdexcept>
#include <string_view>

#include "components/torch/operator_mode.hpp"
#include "registry/base/log.hpp"
#include "registry/files/folders.hpp"
#include "runner/engine/zero3/tensor_spool.hpp"

namespace runner {

namespace {

// Smaller tensors would cost more for pages and mappings than they save.
constexpr std::size_t least_bytes = 64 << 10;

std::filesystem::path folder_on_disk(const DistributedOptions& distributed) {
  auto folder = distributed.offload_dir ? *distributed.offload_dir : temporary_folder();
  struct statfs found{};
  if (::statfs(folder.c_str(), &found) == 0 && found.f_type == TMPFS_MAGIC)
    throw std::runtime_error(
        log::format("distributed.offload = \"disk\" would save no memory: {} is a file system in memory. Set "
                    "distributed.offload_dir to a folder on a disk.",
                    folder.string()));
  const TensorSpool can_be_written(folder);
  return folder;
}

// Each tensor has its own file, so that its disk space is freed together with it.
torch::Tensor in_file(const torch::Tensor& tensor, const std::filesystem::path& folder) {
  return TensorSpool(folder).put(tensor);
}

// While it is active, large tensors of zeros are created in files. Optimizers create their state this way.
class ZerosInFile final : public OperatorMode {
 public:
  explicit ZerosInFile(std::filesystem::path folder) : folder_(std::move(folder)) {}

  void run(const c10::OperatorHandle& op, torch::jit::Stack& stack) override {
    op.callBoxed(&stack);
    const std::string_view name = op.operator_name().name;
    if (name != "aten::zeros" && name != "aten::zeros_like" && name != "aten::new_zeros") return;
    const torch::Tensor made = stack.back().toTensor();
    if (made.nbytes() < least_bytes || !made.is_cpu() || !made.is_non_overlapping_and_dense()) return;
    // Keeps the strides: optimizers traverse parameters and their state together.
    stack.back() =
        in_file(made.as_strided({made.numel()}, {1}), folder_).as_strided(made.sizes(), made.strides());
  }

 private:
  const std::filesystem::path folder_;
};

// Optimizers create state when a parameter has its first gradient, or when they are loaded.
class OptimizerOnDisk final : public Optimizer {
 public:
  OptimizerOnDisk(const std::function<std::unique_ptr<Optimizer>()>& make,
                  const std::filesystem::path& folder)
      : in_file_(folder) {
    const OperatorModeScope scope(in_file_);
    own_ = make();
  }

  double peak_lr() const override { return own_->peak_lr(); }
  void step(double lr_factor) override {
    const OperatorModeScope scope(in_file_);
    own_->step(lr_factor);
  }
  State save() const override { return own_->save(); }
  void load(const State& state) override {
    const OperatorModeScope scope(in_file_);
    own_->load(state);
  }

 private:
  ZerosInFile in_file_;
  std::unique_ptr<Optimizer> own_;
};

}  // namespace

ShardOffload::ShardOffload(const DistributedOptions& distributed, const torch::Device& device)
    : kind_(distributed.offload) {
  if (kind_ == Offload::cpu && device.is_cpu())
    throw std::runtime_error(
        "distributed.offload = \"cpu\" moves weights from a GPU to main memory, where a CPU has them "
        "already: delete it, or use \"disk\".");
  if (kind_ == Offload::disk) folder_ = folder_on_disk(distributed);
}

void ShardOffload::apply_to(ShardingOptions& options) const {
  if (kind_ == Offload::disk)
    options.keep = options.set_aside = [folder = folder_](const torch::Tensor& values) {
      return in_file(values, folder);
    };
  if (kind_ == Offload::cpu)  // pinned, so that it can be copied while the GPU computes
    options.keep = [](const torch::Tensor& values) { return values.cpu().pin_memory(); };
}

std::unique_ptr<Optimizer> ShardOffload::make_optimizer(
    const std::function<std::unique_ptr<Optimizer>()>& make) const {
  if (kind_ != Offload::disk) return make();
  return std::make_unique<OptimizerOnDisk>(make, folder_);
}

}  // namespace runner
