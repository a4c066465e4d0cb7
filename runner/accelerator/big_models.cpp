#include "runner/accelerator/big_models.hpp"

#include "runner/engine/runtime/device.hpp"
#include "runner/inspect/hollow_model.hpp"
#include "runner/predict/offload/offload_model.hpp"

namespace runner {

namespace {

OffloadOptions offload_options(const DispatchOptions& given) {
  OffloadOptions options{.map = parse_device_map(given.device_map), .unit_bytes = given.unit_bytes};
  if (!options.map.automatic && !given.max_memory.empty())
    throw std::invalid_argument("max_memory applies only with device_map = \"auto\".");
  for (const auto& [device, bytes] : given.max_memory)
    options.most.push_back({resolve_device(device).str(), bytes});
  return options;
}

}  // namespace

void detail::build_without_memory(const std::function<std::shared_ptr<torch::nn::Module>()>& build) {
  build_hollow_module(build);
}

std::vector<std::pair<std::string, std::string>> infer_auto_device_map(const torch::nn::Module& model,
                                                                       const DispatchOptions& options) {
  return places_of_parameters(model, resolve_device(options.device), offload_options(options));
}

DispatchedModel::DispatchedModel(std::unique_ptr<OffloadedWeights> weights) : weights_(std::move(weights)) {}
DispatchedModel::DispatchedModel(DispatchedModel&&) noexcept = default;
DispatchedModel::~DispatchedModel() = default;
std::int64_t DispatchedModel::peak_bytes() const { return weights_->peak_bytes(); }

DispatchedModel::Pass::Pass(OffloadedWeights& weights) : pass_(std::make_unique<OffloadedPass>(&weights)) {}
DispatchedModel::Pass::~Pass() = default;

DispatchedModel load_checkpoint_and_dispatch(torch::nn::Module& model, const std::filesystem::path& file,
                                             const DispatchOptions& options) {
  const torch::Device device = resolve_device(options.device);
  auto weights = offload_weights(model, file, device, torch::MemoryFormat::Contiguous,
                                 offload_options(options), options.rename);
  for (const auto& buffer : model.named_buffers())
    if (buffer.value().defined() && buffer.value().device() != device)
      torch::Tensor(buffer.value()).set_data(buffer.value().to(device));
  model.eval();
  weights->load();
  return DispatchedModel(std::move(weights));
}

}  // namespace runner
