#pragma once

#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>

namespace runner {

bool memory_ran_out(const std::exception& error);  // on a GPU, or in main memory
void drop_cached_memory();                         // that LibTorch keeps on a GPU for later

// Calls train(batch_size), and if memory runs out, again with half the batch size, until it fits. The
// function must build everything that depends on the batch size itself. On several ranks memory must run out
// on all of them at the same place.
template <class Train>
auto find_executable_batch_size(std::int64_t batch_size, const Train& train) {
  while (true) {
    try {
      return train(batch_size);
    } catch (const std::exception& error) {
      if (!memory_ran_out(error)) throw;
      if (batch_size <= 1)
        throw std::runtime_error(std::string("Not even one example at a time fits into memory. (") +
                                 error.what() + ")");
    }
    drop_cached_memory();
    batch_size /= 2;
  }
}

}  // namespace runner
