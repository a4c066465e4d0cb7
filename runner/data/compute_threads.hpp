#pragma once

#include <cstdint>
#include <functional>

namespace runner {

// Divides the numbers 0 .. count - 1 among LibTorch's compute threads, in pieces of at least `at_least`, and
// waits. An exception of a piece is rethrown here. Our own threads would compete with LibTorch's, which keep
// spinning for a while after their work.
void on_compute_threads(std::int64_t count, std::int64_t at_least,
                        const std::function<void(std::int64_t begin, std::int64_t end)>& work);

}  // namespace runner
