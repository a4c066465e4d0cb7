#include "runner/engine/torch_warnings.hpp"

#include <c10/util/Exception.h>

#include "registry/log.hpp"

namespace runner {

void log_torch_warnings() {
  struct Logged final : c10::WarningHandler {
    void process(const c10::Warning& warning) override { log::warning("{}", warning.msg()); }
  };
  static Logged handler;
  c10::WarningUtils::set_warning_handler(&handler);
}

}  // namespace runner
