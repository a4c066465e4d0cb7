#include "runner/engine/allocator.hpp"

#include <malloc.h>

namespace runner {

void keep_freed_memory() {
  constexpr int mebibyte = 1 << 20;
  mallopt(M_MMAP_THRESHOLD,
          32 * mebibyte);  // the most that glibc allows: larger blocks are always the kernel's
  mallopt(M_TRIM_THRESHOLD, 1024 * mebibyte);
  mallopt(M_TOP_PAD, 16 * mebibyte);
}

}  // namespace runner
