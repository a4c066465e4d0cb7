#include "components/layers/activation_checkpoint.hpp"

#include <ATen/Context.h>
#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/custom_class.h>

#include <mutex>
#include <optional>

#include "components/precisions/fp8_linear.hpp"
#include "components/precisions/no_autocast_cache.hpp"

namespace runner {

namespace {

using torch::autograd::variable_list;

// Tensors on the meta device have no values, so any generator will do.
at::Generator generator_of(torch::Device device) {
  return at::globalContext().defaultGenerator(device.is_meta() ? torch::Device(torch::kCPU) : device);
}

torch::Tensor random_state(torch::Device device) {
  at::Generator generator = generator_of(device);
  const std::lock_guard lock(generator.mutex());
  return generator.get_state();
}

// Sets the generator of the device to an earlier state; the destructor restores its current one.
class RandomReplay {
 public:
  RandomReplay(torch::Device device, const torch::Tensor& earlier)
      : device_(device), now_(random_state(device)) {
    set(earlier);
  }
  ~RandomReplay() { set(now_); }
  RandomReplay(const RandomReplay&) = delete;
  RandomReplay& operator=(const RandomReplay&) = delete;

 private:
  void set(const torch::Tensor& state) {
    at::Generator generator = generator_of(device_);
    const std::lock_guard lock(generator.mutex());
    generator.set_state(state);
  }

  torch::Device device_;
  torch::Tensor now_;
};

// All that is needed to run the segment a second time exactly like the first time.
struct Replay : torch::CustomClassHolder {
  Replay(Segment segment_, variable_list parameters_, torch::Device device_)
      : segment(std::move(segment_)),
        parameters(std::move(parameters_)),
        device(device_),
        random(random_state(device_)) {
    if (at::autocast::is_autocast_enabled(device.type()))
      autocast = at::autocast::get_autocast_dtype(device.type());
  }

  torch::Tensor run(const variable_list& inputs) const {
    const RandomReplay replay(device, random);
    std::unique_ptr<PrecisionScope> scope;
    if (fp8_layers) {
      scope = std::make_unique<Fp8Scope>(device.type(), *fp8_layers);
    } else if (autocast) {
      scope = std::make_unique<AutocastScope>(device.type(), *autocast);
    }
    return segment(inputs);
  }

  Segment segment;
  variable_list parameters;
  torch::Device device;
  torch::Tensor random;
  std::optional<torch::Dtype> autocast;
  const Fp8Layers* fp8_layers = active_fp8_layers();
};

struct CheckpointedSegment : torch::autograd::Function<CheckpointedSegment> {
  // The parameters are inputs too, so that autograd delivers their gradients as usual.
  static torch::Tensor forward(torch::autograd::AutogradContext* context, at::TensorList inputs,
                               at::TensorList /*parameters*/, const c10::intrusive_ptr<Replay>& replay) {
    context->save_for_backward(inputs.vec());
    context->saved_data["replay"] = c10::IValue::make_capsule(replay);
    // Autocast's copies of weights are made here without gradients, so they must not stay in its cache.
    const NoAutocastCache no_cache;
    return replay->segment(inputs.vec());
  }

  static variable_list backward(torch::autograd::AutogradContext* context, const variable_list& gradients) {
    const auto replay = c10::static_intrusive_pointer_cast<Replay>(context->saved_data["replay"].toCapsule());
    const torch::AutoGradMode with_gradients(true);
    variable_list inputs, all;
    for (const torch::Tensor& saved : context->get_saved_variables()) {
      inputs.push_back(saved.defined() ? saved.detach().requires_grad_(saved.requires_grad()) : saved);
    }
    const torch::Tensor output = replay->run(inputs);
    all.insert(all.end(), inputs.begin(), inputs.end());
    all.insert(all.end(), replay->parameters.begin(), replay->parameters.end());
    variable_list wanted;
    for (const torch::Tensor& tensor : all) {
      if (tensor.defined() && tensor.requires_grad()) wanted.push_back(tensor);
    }
    const variable_list found =
        torch::autograd::grad({output}, wanted, {gradients[0]}, /*retain_graph=*/false,
                              /*create_graph=*/false, /*allow_unused=*/true);
    variable_list result;
    std::size_t next = 0;
    for (const torch::Tensor& tensor : all) {
      result.push_back(tensor.defined() && tensor.requires_grad() ? found[next++] : torch::Tensor());
    }
    result.emplace_back();  // for the replay itself
    return result;
  }
};

}  // namespace

torch::Tensor run_segment(bool checkpoint, const torch::nn::Module& owner, const Segment& segment,
                          const std::vector<torch::Tensor>& inputs) {
  if (!checkpoint || !torch::GradMode::is_enabled()) return segment(inputs);
  const auto replay = c10::make_intrusive<Replay>(segment, owner.parameters(), inputs.front().device());
  return CheckpointedSegment::apply(at::TensorList(inputs), at::TensorList(replay->parameters), replay);
}

}  // namespace runner
