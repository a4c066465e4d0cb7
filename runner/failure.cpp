#include "runner/failure.hpp"

#include <new>

#include "components/support/torch_error.hpp"
#include "registry/wording.hpp"
#include "runner/engine/out_of_memory.hpp"

namespace runner {

std::string failure_text(const std::exception& error) {
  const std::string reason = shown_message(reason_of(error));
  if (!is_out_of_memory(error) || reason.find("loader.batch_size") != std::string::npos) return reason;
  const bool says_more = dynamic_cast<const std::bad_alloc*>(&error) == nullptr;
  return "There is not enough memory. A smaller loader.batch_size, a smaller model or less data at once "
         "takes "
         "less; `runner estimate RECIPE` says how much a run takes." +
         (says_more ? " (" + escaped_name(reason) + ")" : "");
}

}  // namespace runner
