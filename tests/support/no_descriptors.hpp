#pragma once

#include <sys/resource.h>

#include <stdexcept>

namespace runner::testing {

// While it lives, no file can be opened: this process has too many open files.
class NoDescriptors {
 public:
  NoDescriptors() {
    if (::getrlimit(RLIMIT_NOFILE, &before_) != 0) throw std::runtime_error("no limit of open files");
    set(0);
  }
  ~NoDescriptors() { set(before_.rlim_cur); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  void set(rlim_t most) const {
    const rlimit limit{most, before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }

  rlimit before_{};
};

}  // namespace runner::testing
