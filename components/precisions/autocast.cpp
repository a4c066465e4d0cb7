#include "components/precisions/autocast.hpp"

namespace runner {

AutocastScope::AutocastScope(torch::DeviceType device, torch::Dtype type)
    : device_(device),
      enabled_before_(at::autocast::is_autocast_enabled(device)),
      type_before_(at::autocast::get_autocast_dtype(device)),
      cached_before_(at::autocast::is_autocast_cache_enabled()) {
  at::autocast::set_autocast_enabled(device, true);
  at::autocast::set_autocast_dtype(device, type);
  at::autocast::set_autocast_cache_enabled(true);
  at::autocast::increment_nesting();
}

AutocastScope::~AutocastScope() {
  // The cache holds narrow copies of the weights, which the update after this pass makes stale.
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(device_, enabled_before_);
  at::autocast::set_autocast_dtype(device_, type_before_);
  at::autocast::set_autocast_cache_enabled(cached_before_);
}

}  // namespace runner
