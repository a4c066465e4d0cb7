#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <functional>

namespace simulated_gpu {

bool is_capturing();
// What waits for the device, or reads memory of the host that may be gone, cannot be part of a graph.
void refuse_while_capturing(const char* what);
// A replay does this again.
void add_to_graph(std::function<void()> work);

}  // namespace simulated_gpu
