#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace runner {

// Models that are larger than memory, for inference: built without memory, with their weights left in their
// file and read when an operator is about to use them.
//
//   Net net = init_empty_weights([] { return Net(options); });
//   auto dispatched = load_checkpoint_and_dispatch(*net, "weights.safetensors");
//   const torch::NoGradGuard no_grad;
//   const auto pass = dispatched.pass();
//   torch::Tensor output = net->forward(input);

namespace detail {
void build_without_memory(const std::function<std::shared_ptr<torch::nn::Module>()>& build);
}  // namespace detail

// What the function builds, a module holder or a shared pointer to a module, without memory for its
// parameters; buffers and tables have their values. The function is called twice, and constructors may not
// read the values of tensors that they make.
template <class Build>
auto init_empty_weights(const Build& build) {
  std::optional<decltype(build())> made;
  detail::build_without_memory([&]() -> std::shared_ptr<torch::nn::Module> {
    made.emplace(build());
    if constexpr (requires { made->ptr(); }) {
      return made->ptr();
    } else {
      return *made;
    }
  });
  return *std::move(made);
}

struct DispatchOptions {
  // "auto": fills one device after the other, then main memory; the rest stays in its file. Or places by
  // pattern: "layers.0=cuda:0,layers.1=cpu,*=disk".
  std::string device_map = "auto";
  // For "auto", the bytes of each device, the first of which is filled first: {{"cuda:0", 10 << 30}, {"cpu",
  // 20 << 30}}. Default: what is free.
  std::vector<std::pair<std::string, std::uint64_t>> max_memory = {};
  std::string device = "auto";  // that runs the model
  // Weights that are read together: a module of at most so many bytes is not taken apart.
  std::uint64_t unit_bytes = std::uint64_t{32} << 20;
  // The name in the model for a name in the file, if they differ.
  std::function<std::string(const std::string&)> rename = {};
};

// The place of each parameter: "cuda:0", "cpu" or "disk".
std::vector<std::pair<std::string, std::string>> infer_auto_device_map(const torch::nn::Module& model,
                                                                       const DispatchOptions& options = {});

class OffloadedWeights;
class OffloadedPass;

// The weights of a model that was dispatched; the model may be run while a pass exists.
class DispatchedModel {
 public:
  explicit DispatchedModel(std::unique_ptr<OffloadedWeights> weights);
  DispatchedModel(DispatchedModel&&) noexcept;
  ~DispatchedModel();

  class Pass {
   public:
    explicit Pass(OffloadedWeights& weights);
    Pass(Pass&&) = delete;
    ~Pass();

   private:
    std::unique_ptr<OffloadedPass> pass_;
  };
  [[nodiscard]] Pass pass() { return Pass(*weights_); }
  std::int64_t peak_bytes() const;  // of the weights that were read and released

 private:
  std::unique_ptr<OffloadedWeights> weights_;
};

// For a model from init_empty_weights() and safetensors or torch.save, one file or several.
DispatchedModel load_checkpoint_and_dispatch(torch::nn::Module& model, const std::filesystem::path& weights,
                                             const DispatchOptions& options = {});

}  // namespace runner
