#include "runner/engine/runtime/out_of_memory.hpp"

#include <c10/util/Exception.h>

#include <algorithm>
#include <array>
#include <new>
#include <string_view>

#include "runner/engine/world.hpp"

namespace runner {

bool is_out_of_memory(const std::exception& error) {
  if (dynamic_cast<const RankError*>(&error)) return false;  // it may quote what happened to another rank
  if (dynamic_cast<const std::bad_alloc*>(&error) || dynamic_cast<const c10::OutOfMemoryError*>(&error))
    return true;
  // LibTorch's allocator for main memory and oneDNN say so only in the text of the error.
  constexpr std::array<std::string_view, 3> words{"can't allocate memory", "not enough memory",
                                                  "out of memory"};
  const std::string_view text = error.what();
  return std::ranges::any_of(words, [&](auto word) { return text.find(word) != std::string_view::npos; });
}

UpdateStart::UpdateStart(const Weights& weights, Precision& precision, const torch::Device& device)
    : precision_(precision),
      precision_state_(precision.save().copy()),
      generators_(device),
      generators_state_(generators_.save()) {
  buffers_.add(weights.held_buffers());
}

void UpdateStart::restore() {
  buffers_.restore();
  precision_.load(precision_state_);
  generators_.load(generators_state_);
}

}  // namespace runner
