#pragma once

#include <exception>

namespace runner {

// Whether the error says that an allocation failed, on a GPU or in main memory.
bool is_out_of_memory(const std::exception& error);

}  // namespace runner
