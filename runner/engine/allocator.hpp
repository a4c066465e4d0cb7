#pragma once

namespace runner {

// Tells the C library to keep what training frees: the next step asks for the same memory again, and giving
// it back to the kernel in between means clearing every page anew. Once, before training.
void keep_freed_memory();

}  // namespace runner
