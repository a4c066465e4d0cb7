#include "runner/process/failure.hpp"

#include <filesystem>
#include <new>

#include "components/torch/torch_error.hpp"
#include "registry/base/wording.hpp"
#include "registry/build_scope.hpp"
#include "runner/engine/runtime/out_of_memory.hpp"

namespace runner {

namespace {

// The message of the standard library would begin with the name of its function.
std::string without_function(const std::filesystem::filesystem_error& error) {
  if (error.path1().empty()) return error.what();  // nothing else tells what was tried
  return "Cannot use " + error.path1().string() + ": " + error.code().message() + ".";
}

}  // namespace

std::string failure_text(const std::exception& error) {
  if (const auto* of_file = dynamic_cast<const std::filesystem::filesystem_error*>(&error))
    return shown_message(without_function(*of_file));
  const std::string reason = shown_message(reason_of(error));
  if (!is_out_of_memory(error) || reason.find("loader.batch_size") != std::string::npos) return reason;
  const bool says_more = dynamic_cast<const std::bad_alloc*>(&error) == nullptr;
  return "There is not enough memory. A smaller loader.batch_size, a smaller model or less data at once "
         "takes "
         "less; `runner estimate RECIPE` says how much a run takes." +
         (says_more ? " (" + escaped_name(reason) + ")" : "");
}

std::string unknown_failure_text() {
  return "A component threw " + thrown_type() + ", which is not a std::exception and says nothing more.";
}

}  // namespace runner
