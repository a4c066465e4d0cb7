#pragma once

#include <ATen/autocast_mode.h>

namespace runner {

// During its lifetime, autocast does not cache copies of parameters in a narrower type.
class NoAutocastCache {
 public:
  NoAutocastCache() { at::autocast::set_autocast_cache_enabled(false); }
  ~NoAutocastCache() { at::autocast::set_autocast_cache_enabled(before_); }
  NoAutocastCache(const NoAutocastCache&) = delete;
  NoAutocastCache& operator=(const NoAutocastCache&) = delete;

 private:
  bool before_ = at::autocast::is_autocast_cache_enabled();
};

}  // namespace runner
