#include "components/torch/torch_error.hpp"

#include <c10/util/Exception.h>

#include <charconv>
#include <sstream>

#include "registry/base/byte_size.hpp"
#include "registry/base/wording.hpp"

namespace runner {

namespace {

bool from_torch(const std::exception& error) { return dynamic_cast<const c10::Error*>(&error) != nullptr; }

// "The following operation failed in the TorchScript interpreter." comes first, the reason last.
bool from_interpreter(std::string_view text) {
  return text.starts_with("The following operation failed in the TorchScript interpreter");
}

// LibTorch's allocator for main memory names its source file and an error code; the size is what matters.
std::string without_internals(std::string reason) {
  constexpr std::string_view tried = "you tried to allocate ";
  if (const auto at = reason.find(tried); at != std::string::npos) {
    std::uint64_t bytes = 0;
    const char* number = reason.data() + at + tried.size();
    if (std::from_chars(number, reason.data() + reason.size(), bytes).ec == std::errc{})
      return "not enough memory: " + approximately({bytes}) + " could not be allocated";
  }
  if (const auto at = reason.find("] . "); reason.starts_with("[enforce fail at") && at != std::string::npos)
    return reason.substr(at + 4);
  return reason;
}

// oneDNN, which computes layers on CPUs, adds advice that is meant for developers.
bool lacks_kernel(std::string_view text) { return text.starts_with("could not create a primitive"); }

std::string about_kernel(std::string_view text) {
  return "this CPU cannot compute a layer of the model in this precision (oneDNN " +
         std::string(text.substr(0, text.find(". "))) + "); precision=fp32 works with every layer";
}

}  // namespace

std::string reason_of(const std::exception& error) {
  const auto* torch_error = dynamic_cast<const c10::Error*>(&error);
  const std::string text = torch_error ? torch_error->what_without_backtrace() : error.what();
  if (lacks_kernel(text)) return about_kernel(text);
  const bool traced = text.find("Exception raised from ") != std::string::npos;
  if (!from_torch(error) && !from_interpreter(text) && !traced) return text;
  std::istringstream lines(text);
  std::string first, last;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) continue;
    if (line.starts_with("Exception raised from ") || line.starts_with("frame #")) break;
    if (first.empty()) first = line;
    last = line;
  }
  return shown_message(without_internals(from_interpreter(text) ? last : first));
}

}  // namespace runner
