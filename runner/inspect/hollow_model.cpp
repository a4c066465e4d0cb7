#include "runner/inspect/hollow_model.hpp"

#include <sys/mman.h>
#include <torch/types.h>

#include <algorithm>
#include <set>
#include <vector>

#include "components/torch/operator_mode.hpp"
#include "runner/engine/zero3/tensor_spool.hpp"
#include "runner/inspect/blueprint.hpp"
#include "runner/recipe/parts.hpp"

namespace runner {

namespace {

// Intercepts operators that create tensors, such as zeros(), and numbers them: a constructor creates the same
// tensors in the same order every time.
class FactoryMode : public OperatorMode {
 public:
  void run(const c10::OperatorHandle& op, torch::jit::Stack& stack) final {
    const auto& arguments = op.schema().arguments();
    const auto device = std::ranges::find(arguments, "device", &c10::Argument::name);
    if (device == arguments.end()) return op.callBoxed(&stack);
    const auto first = static_cast<std::ptrdiff_t>(stack.size() - arguments.size());
    const std::size_t number = count_++;
    if (on_meta(number))
      stack[static_cast<std::size_t>(first + (device - arguments.begin()))] = c10::Device(c10::kMeta);
    op.callBoxed(&stack);
    if (stack.back().isTensor()) stack.back() = made(number, stack.back().toTensor());
  }

 private:
  virtual bool on_meta(std::size_t) const { return false; }
  // The tensor that takes its place.
  virtual torch::Tensor made(std::size_t, const torch::Tensor& tensor) { return tensor; }

  std::size_t count_ = 0;
};

// Creates all tensors on the meta device, without memory.
class Sketch final : public FactoryMode {
 public:
  // The numbers of the tensors that became parameters. Storages are compared, because a tensor with another
  // owner is copied when it becomes a parameter.
  std::set<std::size_t> parameters_among_made(const torch::nn::Module& model) const {
    std::set<const c10::StorageImpl*> parameters;
    for (const torch::Tensor& parameter : model.parameters())
      parameters.insert(parameter.storage().unsafeGetStorageImpl());
    std::set<std::size_t> found;
    for (const auto& [number, storage] : made_)
      if (parameters.contains(storage.unsafeGetStorageImpl())) found.insert(number);
    return found;
  }

 private:
  bool on_meta(std::size_t) const override { return true; }
  torch::Tensor made(std::size_t number, const torch::Tensor& tensor) override {
    made_.emplace_back(number, tensor.storage());
    return tensor;
  }

  std::vector<std::pair<std::size_t, c10::Storage>> made_;
};

class ParametersOnMeta final : public FactoryMode {
 public:
  explicit ParametersOnMeta(std::set<std::size_t> parameters) : parameters_(std::move(parameters)) {}

 private:
  bool on_meta(std::size_t number) const override { return parameters_.contains(number); }

  std::set<std::size_t> parameters_;
};

class ParametersInFile final : public FactoryMode {
 public:
  ParametersInFile(std::set<std::size_t> parameters, const std::filesystem::path& folder,
                   std::int64_t least_bytes)
      : parameters_(std::move(parameters)), spool_(folder), least_bytes_(least_bytes) {}

 private:
  torch::Tensor made(std::size_t number, const torch::Tensor& tensor) override {
    const bool fits = tensor.is_cpu() && tensor.is_contiguous() && tensor.numel() > 0 &&
                      static_cast<std::int64_t>(tensor.nbytes()) >= least_bytes_;
    if (!fits || !parameters_.contains(number)) return tensor;
    // The mapping is shared, so pages that are released keep their data in the file.
    if (last_.defined()) ::madvise(last_.mutable_data_ptr(), last_.nbytes(), MADV_DONTNEED);
    last_ = spool_.put(tensor);
    return last_;
  }

  std::set<std::size_t> parameters_;
  TensorSpool spool_;
  std::int64_t least_bytes_;
  torch::Tensor last_;
};

std::set<std::size_t> parameters_among_made(const BuildModule& build) {
  Sketch sketch;
  const OperatorModeScope scope(sketch);
  return sketch.parameters_among_made(*build());
}

std::shared_ptr<torch::nn::Module> build_under(FactoryMode& mode, const BuildModule& build) {
  const OperatorModeScope scope(mode);
  return build();
}

}  // namespace

// A first build on the meta device finds out which tensors become parameters; the second build allocates only
// the others.
std::shared_ptr<torch::nn::Module> build_hollow_module(const BuildModule& build) {
  ParametersOnMeta hollow(parameters_among_made(build));
  return build_under(hollow, build);
}

std::shared_ptr<Model> build_hollow_model(const Recipe& recipe, const DataSpec& data) {
  if (from_plugin(recipe.model)) return build_bare_model(recipe, data);
  return std::dynamic_pointer_cast<Model>(
      build_hollow_module([&] { return build_bare_model(recipe, data); }));
}

std::shared_ptr<Model> build_spooled_model(const Recipe& recipe, const DataSpec& data,
                                           const std::filesystem::path& folder, std::int64_t least_bytes) {
  if (from_plugin(recipe.model)) return build_bare_model(recipe, data);
  const BuildModule build = [&] { return build_bare_model(recipe, data); };
  ParametersInFile spooled(parameters_among_made(build), folder, least_bytes);
  return std::dynamic_pointer_cast<Model>(build_under(spooled, build));
}

}  // namespace runner
