#pragma once

#include <cstdint>
#include <functional>

namespace runner {

// Shares the numbers 0 .. count - 1 out among the threads that LibTorch computes with, in pieces of at least
// so many, and waits. What a piece throws comes out here. Threads of our own would fight with these, which
// keep their cores busy for a while after their work is done.
void on_compute_threads(std::int64_t count, std::int64_t at_least,
                        const std::function<void(std::int64_t begin, std::int64_t end)>& work);

}  // namespace runner
