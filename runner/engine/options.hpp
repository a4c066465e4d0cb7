#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

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

enum class OnFullMemory { stop, split };
constexpr auto describe(std::type_identity<OnFullMemory>) {
  return choices(choice("stop", OnFullMemory::stop, "the run ends and says what would help"),
                 choice("split", OnFullMemory::split,
                        "micro-batches are halved until they fit; an update still sees as many examples"));
}

// Everything an engine has to be told.
struct EngineOptions {
  std::string device = "auto";  // "cpu", "cuda", "cuda:1"; "auto": CUDA where there is one
  MemoryFormat memory_format = MemoryFormat::automatic;
  // Built once the device is known: for example part<PrecisionKind>.build, or a precision of one's own.
  std::function<std::unique_ptr<Precision>(const PrecisionInputs&)> precision = {};
  std::optional<double> clip_norm = {};   // gradients are scaled down to this total norm
  std::optional<double> clip_value = {};  // each gradient element is limited to this size
  OnFullMemory on_out_of_memory = OnFullMemory::stop;
  DistributedSection distributed = {};  // for several ranks
};

}  // namespace runner
