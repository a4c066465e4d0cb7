#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "components/optimizers/optimizer.hpp"
#include "components/precisions/precision.hpp"
#include "registry/field.hpp"
#include "runner/engine/distributed_options.hpp"

namespace runner {

enum class MemoryFormat { automatic, contiguous, channels_last };
constexpr auto describe(std::type_identity<MemoryFormat>) {
  return choices(choice("auto", MemoryFormat::automatic, "what the model prefers"),
                 choice("contiguous", MemoryFormat::contiguous, "channels first"),
                 choice("channels_last", MemoryFormat::channels_last, "faster for most convolution nets"));
}

enum class OnOutOfMemory { stop, split };
constexpr auto describe(std::type_identity<OnOutOfMemory>) {
  return choices(choice("stop", OnOutOfMemory::stop, "the run ends and says what would help"),
                 choice("split", OnOutOfMemory::split,
                        "micro-batches are halved until they fit; an update still sees as many examples"));
}

// All settings of an engine.
struct EngineOptions {
  std::string device = "auto";   // "cpu", "cuda", "cuda:1"; "auto": CUDA if there is a GPU
  bool device_placement = true;  // false: modules and batches stay where they are
  MemoryFormat memory_format = MemoryFormat::automatic;
  // Built once the device is known: for example part<PrecisionKind>.build, or your own precision.
  std::function<std::unique_ptr<Precision>(const PrecisionInputs&)> precision = {};
  std::optional<double> clip_norm = {};   // gradients are scaled down to this total norm
  std::optional<double> clip_value = {};  // each gradient element is limited to this size
  OnOutOfMemory on_out_of_memory = OnOutOfMemory::stop;
  bool graphs = false;  // record passes and replay them: on GPUs, with batches of fixed shapes
  DistributedOptions distributed = {};  // for several ranks
  // How sharded parameters may be divided for the optimizer: facts().updates_by of its part.
  UpdatesBy updates_by = UpdatesBy::parameter;
  // The type in which sharded parameters may be gathered: facts().weights_cast_to of the precision's part.
  std::optional<torch::ScalarType> weights_cast_to = {};
};

}  // namespace runner
